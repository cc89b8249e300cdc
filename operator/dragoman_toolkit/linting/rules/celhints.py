"""How selectors that do not compile were meant: remedies for the words of the compiler.

Each remedy is tried by its caller: `changes` are kept only where the selector then compiles.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.rules.units import quantity_meant, semver_meant
from dragoman_toolkit.linting.selectors.expressiontext import Change, changed


@dataclass(frozen=True, slots=True)
class Hint:
    """How a selector was probably meant."""

    advice: str = ""  # What to write; empty without an idea
    changes: tuple[Change, ...] = ()  # The same as changes; empty where it is not certain


_MAX_TEXT = 10 * 1024
"""Longer selectors are refused for their length alone."""
_KEY = r"""\[\s*(?:'[^'\n]*'|"[^"\n]*")\s*\]"""
_READ = rf"device\s*\.\s*(?:attributes|capacity)\s*{_KEY}(?:\s*\.\s*[A-Za-z_]\w*|\s*{_KEY})"
_OPERATOR = r"(==|!=|<=|>=|<|>)"
_STRING = r"""'[^'\n]*'|"[^"\n]*\""""
_VALUE = r"""'[^'\n]*'|"[^"\n]*"|[0-9][0-9.]*"""
_COMPARED = re.compile(
    rf"({_READ})\s*{_OPERATOR}\s*(?:(quantity|semver)\s*\(\s*({_VALUE})\s*\)|({_VALUE}))"
)
_TURNED = re.compile(rf"(quantity|semver)\s*\(\s*({_VALUE})\s*\)\s*{_OPERATOR}\s*({_READ})")
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_ACCESSOR = re.compile(
    rf"({_READ})((?:\s*\.\s*(?:string|quantity|int|bool|version|value|as\w+|get\w*)\s*\(\s*\))+)"
)
_JOINED = re.compile(
    r"""device\s*\.\s*(attributes|capacity)\s*\[\s*(['"])([\w.-]+)/([A-Za-z_]\w*)\2\s*\]"""
)
_NO_DOMAIN = re.compile(
    r"""device\s*\.\s*(attributes|capacity)\s*(?:\[\s*(['"])([A-Za-z_][\w-]*)\2\s*\]|\.\s*([A-Za-z_]\w*))"""
)
_UNQUOTED = re.compile(
    r"device\s*\.\s*(attributes|capacity)\s*\[\s*([A-Za-z][\w-]*(?:\.[\w-]+)+)\s*\]"
)
_BARE = re.compile(r"(?<![\w.])(attributes|capacity|driver)(?=\s*(?:\[|\.|==|!=))")
_DRIVER = re.compile(r"""device\s*\.\s*driver\s*==\s*['"]([^'"\n]+)['"]""")
_STRINGS = re.compile(r"""'[^'\n]*'|"[^"\n]*\"""")
_ASSIGNED = re.compile(r"(?<![=!<>])=(?![=~])")
_WORD = re.compile(r"\b(and|or|not|AND|OR|NOT)\b")
_OPERATORS = {"and": "&&", "or": "||", "not": "!"}
_FIELD = re.compile(r"undefined field '(\w+)'")
_NO_OPERATOR = re.compile(rf"(===|!==|=~|(?<=\s)(?:I?LIKE|like|CONTAINS)\b)\s*({_STRING})?")
_BARE_AMOUNT = re.compile(
    rf"({_READ})\s*{_OPERATOR}\s*([0-9][0-9.]*\s*(?:[KMGTPE]i?|k)B?)(?!\w)", re.ASCII
)
_BARE_ARGUMENT = re.compile(rf"\b(compareTo|isGreaterThan|isLessThan)\(\s*({_VALUE})\s*\)")
_UNDECLARED = re.compile(r"undeclared reference to '(\w+)'")
_FUNCTIONS = {
    **dict.fromkeys(("toLowerCase", "toLower", "lower", "tolower", "lowercase"), "lowerAscii"),
    **dict.fromkeys(("toUpperCase", "toUpper", "upper", "toupper", "uppercase"), "upperAscii"),
    **dict.fromkeys(("includes", "has", "contain"), "contains"),
    **dict.fromkeys(("hasPrefix", "startsWith", "beginsWith", "startswith"), "startsWith"),
    **dict.fromkeys(("hasSuffix", "endsWith", "endswith"), "endsWith"),
    **dict.fromkeys(("match", "regex", "regexMatch", "re_match", "matchesRegex"), "matches"),
    **dict.fromkeys(("len", "length", "count"), "size"),
    **dict.fromkeys(("greaterThan", "isGreater", "gt"), "isGreaterThan"),
    **dict.fromkeys(("lessThan", "isLess", "lt"), "isLessThan"),
    **dict.fromkeys(("compare", "compareto"), "compareTo"),
}
"""Functions of other languages, and what they are called in selectors."""
_AMOUNTS = ("memory", "vram", "framebuffer", "bandwidth", "cores", "storage")
"""Names of what is a capacity in most drivers."""


def expression(text: str, error: str) -> Hint:
    """Return how a selector that does not compile was probably meant."""
    if len(text) > _MAX_TEXT:
        return Hint()
    for remedy in _REMEDIES:
        hint = remedy(text, error)
        if hint is not None:
            return hint
    return Hint()


def _joined(text: str, _: str) -> Hint | None:
    """Domain and name in one key: `attributes["gpu.example.com/model"]`."""
    changes = tuple(
        Change(*one.span(), f'device.{one[1]}["{one[3]}"].{one[4]}')
        for one in _JOINED.finditer(text)
    )
    if not changes:
        return None
    return Hint(f"domain and name are apart: {changes[0].text}", changes)


def _comparison(text: str, error: str) -> Hint | None:
    """Quantities and versions, which have no operators."""
    if "overload" not in error:
        return None
    changes = tuple(_compared(text, error))
    return Hint(f"write {changes[0].text}", changes) if changes else None


def _compared(text: str, error: str) -> Iterator[Change]:
    for one in _COMPARED.finditer(text):
        read, operator, kind, inner, plain = one.groups()
        is_capacity = re.match(r"device\s*\.\s*capacity", read) is not None
        if kind is None and (not is_capacity or "Quantity" not in error):
            continue
        yield Change(*one.span(), _call(read, kind or "quantity", inner or plain, operator))
    for one in _TURNED.finditer(text):
        kind, inner, operator, read = one.groups()
        turned = _MIRRORED.get(operator, operator)
        yield Change(*one.span(), _call(read, kind, inner, turned))


def _call(read: str, kind: str, literal: str, operator: str) -> str:
    return f'{read}.compareTo({kind}("{_meant(kind, literal)}")) {operator} 0'


def _accessor(text: str, error: str) -> Hint | None:
    """Calls such as `.string()`: an attribute has its type already."""
    found = [one for one in _ACCESSOR.finditer(text) if one.start() <= len(text)]
    if not found:
        return None
    changes = [Change(*one.span(2), "") for one in found]
    plain = changed(text, changes)
    # Without the calls the comparison may be one of quantities.
    further = _comparison(plain, f"overload {error} Quantity")
    if further is not None:
        return Hint(further.advice, (Change(0, len(text), changed(plain, further.changes)),))
    calls = "".join(found[0][2].split())
    return Hint(
        f"an attribute has its type already, leave {calls} out: {found[0][1]}", tuple(changes)
    )


def _without_domain(text: str, _: str) -> Hint | None:
    """An attribute without the domain that it belongs to."""
    match = _NO_DOMAIN.search(text)
    if match is None or (match[3] and text[match.end() :].lstrip()[:1] == "["):
        return None
    if match[3] and re.match(r"\s*\.\s*[A-Za-z_]\w*(?!\w*\s*\()", text[match.end() :]):
        return None
    name = match[3] or match[4]
    named = _DRIVER.search(text)
    driver = named[1] if named else "<driver>"
    if "/" in driver:
        domain, _, rest = driver.partition("/")
        driver = f"{rest}.{domain}"
    if any(one in name.lower() for one in _AMOUNTS):
        right = f'device.capacity["{driver}"].{name}.compareTo(quantity("40Gi")) >= 0'
        return Hint(f"a domain comes first, and amounts are capacities: {right}")
    identifier = re.sub(r"-(\w)", lambda one: one[1].upper(), name)
    return Hint(f'a domain comes first: device.{match[1]}["{driver}"].{identifier}')


def _unquoted(text: str, _: str) -> Hint | None:
    changes = tuple(
        Change(*one.span(2), f'"{one[2]}"')
        for one in _UNQUOTED.finditer(_STRINGS.sub(_blank, text))
    )
    return Hint(f"a domain is a string: {changes[0].text}", changes) if changes else None


def _blank(match: re.Match[str]) -> str:
    """Hide a string behind as many letters, so that offsets stay."""
    return '"' + "x" * (len(match[0]) - 2) + '"'


def _field(_: str, error: str) -> Hint | None:
    """Fields of a device that selectors do not see."""
    match = _FIELD.search(error)
    if match is None:
        return None
    sees = "a selector sees driver, attributes, capacity and allowMultipleAllocations of a device"
    if match[1] in ("nodeName", "node", "pool", "nodeSelector"):
        return Hint(f"{sees}; the pod chooses nodes: nodeSelector, affinity")
    return Hint(f"{sees}; select by an attribute that identifies devices, such as uuid")


def _functions(text: str, error: str) -> Hint | None:
    """Functions by the names that other languages have for them."""
    match = _UNDECLARED.search(error)
    if match is None or match[1] in ("attributes", "capacity", "driver"):
        return None
    meant = _FUNCTIONS.get(match[1]) or closest(match[1], {*_FUNCTIONS.values()}, edits=2)
    if meant is None or meant == match[1]:
        return None
    hidden = _STRINGS.sub(_blank, text)
    called = re.finditer(rf"(?<!\w){re.escape(match[1])}(?=\s*\()", hidden)
    return Hint(f"write {meant}(…)", tuple(Change(*one.span(), meant) for one in called))


def _arguments(text: str, error: str) -> Hint | None:
    """A text or a number where a quantity or a version belongs."""
    kind = next((one for one in ("Quantity", "Semver") if f"kubernetes.{one}." in error), None)
    if kind is None:
        return None
    changes = tuple(
        Change(*one.span(2), f'{kind.lower()}("{_meant(kind.lower(), one[2])}")')
        for one in _BARE_ARGUMENT.finditer(text)
    )
    return Hint(f"write {changes[0].text}", changes) if changes else None


def _meant(kind: str, literal: str) -> str:
    value = literal.strip("'\"")
    return (quantity_meant if kind == "quantity" else semver_meant)(value) or value


def _bare(text: str, error: str) -> Hint | None:
    if "undeclared reference" not in error:
        return None
    hidden = _STRINGS.sub(_blank, text)
    changes = tuple(Change(*one.span(), f"device.{one[1]}") for one in _BARE.finditer(hidden))
    return Hint(f"write {changes[0].text}", changes) if changes else None


def _words(text: str, error: str) -> Hint | None:
    """Operators of other languages."""
    if "yntax" not in error:
        return None
    amounts = [
        Change(*one.span(), _call(one[1], "quantity", "".join(one[3].split()), one[2]))
        for one in _BARE_AMOUNT.finditer(text)
    ]
    if amounts:
        return Hint(f"write {amounts[0].text}", tuple(amounts))
    if others := tuple(_operators(text)):
        return Hint(f"write {others[0].text.strip()}", others)
    hidden = _STRINGS.sub(_blank, text)
    assigned = [Change(*one.span(), "==") for one in _ASSIGNED.finditer(hidden)]
    words = [Change(*one.span(), _OPERATORS[one[1].lower()]) for one in _WORD.finditer(hidden)]
    advice = ["== in place of ="] if assigned else []
    advice += [
        f"{_OPERATORS[word.lower()]} in place of {word}"
        for word in dict.fromkeys(_WORD.findall(hidden))
    ]
    return Hint(f"write {', '.join(advice)}", (*assigned, *words)) if advice else None


def _operators(text: str) -> Iterator[Change]:
    """Yield what to write for operators that CEL has not, such as `===`, `=~` and `LIKE`."""
    hidden = _STRINGS.sub(_blank, text)
    for one in _NO_OPERATOR.finditer(text):
        operator, value = one.groups()
        if not hidden.startswith(operator, one.start()):
            continue  # within a string
        start = len(text[: one.start()].rstrip())
        if operator in ("===", "!=="):
            yield Change(*one.span(1), operator[:2])
        elif value and operator == "=~":
            yield Change(start, one.end(), f".matches({value})")
        elif value:
            bare = value.strip("'\"")
            begins, ends = not bare.startswith("%"), not bare.endswith("%")
            name = "startsWith" if begins and not ends else "endsWith" if ends else "contains"
            if not (begins and ends):
                yield Change(start, one.end(), f'.{name}("{bare.strip("%")}")')


_REMEDIES: tuple[Callable[[str, str], Hint | None], ...] = (
    _words,
    _joined,
    _accessor,
    _comparison,
    _arguments,
    _without_domain,
    _unquoted,
    _field,
    _functions,
    _bare,
)
