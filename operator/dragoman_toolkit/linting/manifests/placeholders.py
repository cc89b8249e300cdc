"""Values that a tool fills in before the manifest reaches a server: what they are is not known.

Sources: Flux `postBuild` and envsubst (`${NAME}`, `${NAME:=default}`, `$NAME`), Helm, Jinja and
Argo (`{{ … }}`), variables of kustomize (`$(NAME)`), Concourse and spruce (`((NAME))`), ERB
(`<%= … %>`), `@NAME@`, `{NAME}` and `__NAME__` of scripts, `REPLACE_ME` and `<NAME>` of
documentation.
"""

import re
from typing import Any

from dragoman_toolkit.linting.findings.finding import Problem
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping

Steps = tuple[str | int, ...]

_PLACEHOLDER = re.compile(
    r"\$\{[^{}]{1,256}\}|\{\{.{1,256}?\}\}|\$\([A-Za-z_][\w.-]{0,63}\)|\$[A-Z_][A-Z0-9_]{0,63}\b"
    r"|(?<![\w<])<[A-Za-z_][\w .:/-]{0,63}>(?!\w)|<%.{1,256}?%>|\(\([^()]{1,64}\)\)"
    r"|\b(?:FILLED_BY|YOUR|REPLACE|CHANGE|INSERT)_?[A-Z][A-Z0-9_]*|\b[A-Z0-9_]*PLACEHOLDER\b"
    r"|@[A-Z][A-Z0-9_]{0,63}@|__[A-Z][A-Z0-9_]{0,63}__",
    re.ASCII,
)
_MARKS = re.compile(r"[$<@]|\{\{|\(\(|__|[A-Z]{4}")
_TEMPLATES = (
    (
        "unrendered ytt template, run `ytt -f` first",
        re.compile(r"(?m)(?:^|[:-])[ \t]*#@(?:[ \t]|\w+/)"),
    ),
    (
        "unrendered template",
        re.compile(r"(?m)[:-][ \t]+(?:#\{|\[\[-?[ \t]+[.$]?\w[^\[\],\n]*\]\])"),
    ),
)
"""Values that YAML reads as comments or lists; a tool writes them over the text."""
_UNREADABLE = (
    (
        "unrendered Helm template, run `helm template` first",
        re.compile(
            r"\{\{-?\s*[.$a-zA-Z/(\"]|(?m:^[ \t]*(- )?\$\{[A-Za-z_]\w*.*\}[ \t\r]*$)", re.ASCII
        ),
    ),
    (
        "unrendered template",
        re.compile(
            r"\{%|<%|\{\{|(?m:[:-][ \t]+[@%]{1,2}[A-Z])"
            r"|(?m:[:\[,][ \t]*\$?\$\{[^{}\n]{1,256}\})",
            re.ASCII,
        ),
    ),
)


def template(text: str, *, readable: bool) -> str:
    """Return of which tool a text is a template, as what was skipped; empty where it is none.

    Args:
        text: Of a file.
        readable: Whether it is YAML or JSON as it stands.
    """
    if readable and "#" not in text and "[[" not in text:
        return ""
    known = _TEMPLATES if readable else (*_TEMPLATES, *_UNREADABLE)
    return next((words for words, pattern in known if pattern.search(text)), "")


def has_placeholder(value: Any) -> bool:
    """Tell whether a scalar, or a value that stands directly in a mapping, has a placeholder."""
    if isinstance(value, dict):
        return any(isinstance(one, str) and has_placeholder(one) for one in value.values())
    if not isinstance(value, str) or not _MARKS.search(value):
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
    if isinstance(value, dict) and list(value.values()) == [None] and next(iter(value)).isupper():
        return True  # Python's `{NAME}`
    # A mapping counts only where the problem is about what it names, such as a claim.
    about = problem.id in ("dra/reference-missing", "dra/claim-unused")
    return has_placeholder(value) and (about or not isinstance(value, dict))
