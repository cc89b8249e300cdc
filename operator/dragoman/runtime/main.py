"""The operator as a kopf module: `kopf run -A --standalone -m dragoman.runtime.main`.

Settings come from DRAGOMAN_* variables alone.
"""

import kopf

from dragoman.runtime.operator import Operator
from dragoman.runtime.settings import Settings

operator = Operator(Settings.from_environment())
operator.register(kopf.get_default_registry())
