"""The operator as a kopf module: `kopf run -A --standalone -m dragoman.handlers`.

Settings come from DRAGOMAN_* variables alone.
"""

import kopf

from dragoman.operator import Operator
from dragoman.settings import Settings

operator = Operator(Settings.from_environment())
operator.register(kopf.get_default_registry())
