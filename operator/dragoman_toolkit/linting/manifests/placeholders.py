"""Values that a tool fills in before the manifest reaches a server: what they are is not known.

Sources: Flux `postBuild` and envsubst (`${NAME}`, `${NAME:=default}`, `$NAME`), Helm, Jinja and
Argo (`{{ … }}`), variables of kustomize (`$(NAME)`), and `<NAME>` of documentation.
"""

import re
from typing import Any

from dragoman_toolkit.linting.findings.finding import Problem
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping

Steps = tuple[str | int, ...]

_PLACEHOLDER = re.compile(
    r"\$\{[^{}]{1,256}\}|\{\{.{1,256}?\}\}|\$\([A-Za-z_][\w.-]{0,63}\)|\$[A-Z_][A-Z0-9_]{0,63}\b"
    r"|(?<![\w<])<[A-Za-z_][\w .:/-]{0,63}>(?!\w)",
    re.ASCII,
)


def has_placeholder(value: Any) -> bool:
    """Tell whether a scalar, or a value that stands directly in a mapping, has a placeholder."""
    if isinstance(value, dict):
        return any(isinstance(one, str) and has_placeholder(one) for one in value.values())
    if not isinstance(value, str) or not ("$" in value or "{{" in value or "<" in value):
        return False
    return _PLACEHOLDER.search(value) is not None


def depends(obj: Object, problem: Problem) -> bool:
    """Tell whether a problem may go away once placeholders are filled in."""
    text = obj.document.text
    if any(one[0] in text for one in _PLACEHOLDER.finditer(problem.message)):
        return True
    value: Any = obj.tree
    for step in problem.steps:
        if isinstance(step, str) and has_placeholder(step):
            return True
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            value = mapping(value).get(str(step))
    # A mapping counts only where the problem is about what it names, such as a claim.
    about = problem.id in ("dra/reference-missing", "dra/claim-unused")
    return has_placeholder(value) and (about or not isinstance(value, dict))
