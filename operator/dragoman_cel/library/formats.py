"""Kubernetes' named string formats: `format.dns1123Label()`, `.validate(s)`."""

from collections.abc import Callable

from dragoman_cel.representation import NONE, Optional
from dragoman_cel.state import Functions
from dragoman_cel.values.formats import FORMATS, NamedFormat


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(form: NamedFormat, text: str) -> Optional:
    problems = form.validate(text)
    return Optional(problems) if problems else NONE


def _constant(form: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: form


OVERLOADS: Functions = {
    "format-named": _named,
    "format-validate": _validate,
    **{f"format.{name}": _constant(form) for name, form in FORMATS.items()},
}
