"""Typed productions of CEL: expressions of each type.

Holes are in guillemets: a type (`«string»`, `«L(T)»`), or a type with a
variable bound in it (`«bool|$x:T»`). Upper-case single letters are type variables, `$x` and `$y`
fresh names.
"""

import re
from typing import NamedTuple

Type = tuple["str | Type", ...]
"""A name followed by its parameters: `("int",)`, `("L", ("string",))`."""

SIMPLE = ("int", "uint", "double", "bool", "string", "bytes")
SCALARS = (*SIMPLE, "timestamp", "duration")
OBJECTS = ("quantity", "semver", "ip", "cidr", "url", "format")

_PRODUCTIONS = """
bool: !«bool» | («bool» && «bool») | («bool» || «bool») | («A» == «A») | («A» != «A»)
bool: («N» < «N») | («N» <= «N») | («N» > «N») | («N» >= «N») | («int» < «double»)
bool: («uint» >= «int»)
bool: («A» in «L(A)») | («K» in «M(K,A)») | bool(«string») | dyn(«bool») | («A» == dyn(«B»))
bool: «string».contains(«string») | «string».startsWith(«string») | «string».endsWith(«string»)
bool: «string».matches(«regex») | matches(«string», «regex») | («string»).matches(«string»)
bool: «L(A)».all($x, «bool|$x:A») | «L(A)».exists($x, «bool|$x:A»)
bool: «L(A)».exists_one($x, «bool|$x:A»)
bool: «M(K,A)».all($x, «bool|$x:K») | «M(K,A)».exists($x, «bool|$x:K»)
bool: «L(A)».all($x, $y, «bool|$x:int,$y:A») | «L(A)».exists($x, $y, «bool|$x:int,$y:A»)
bool: «M(K,A)».existsOne($x, $y, «bool|$x:K,$y:A») | «L(A)».exists_one($x, $y, «bool|$x:int,$y:A»)
bool: «O(A)».hasValue() | «L(N)».isSorted() | isURL(«string») | isIP(«string») | isCIDR(«string»)
bool: isQuantity(«string») | isSemver(«string») | isSemver(«string», «bool»)
bool: ip.isCanonical(«string»)
bool: «quantity».isGreaterThan(«quantity») | «quantity».isLessThan(«quantity»)
bool: «quantity».isInteger()
bool: «semver».isGreaterThan(«semver») | «semver».isLessThan(«semver»)
bool: «ip».isUnspecified() | «ip».isLoopback() | «ip».isGlobalUnicast()
bool: «ip».isLinkLocalUnicast()
bool: «ip».isLinkLocalMulticast() | «cidr».containsIP(«ip») | «cidr».containsIP(«string»)
bool: «cidr».containsCIDR(«cidr») | «cidr».containsCIDR(«string») | (type(«A») == type(«B»))
bool: sets.contains(«L(S)», «L(S)») | sets.intersects(«L(S)», «L(S)»)
bool: sets.equivalent(«L(S)», «L(S)»)
bool: (type(«A») == «typename»)
int: («int» + «int») | («int» - «int») | («int» * «int») | («int» / «int») | («int» % «int»)
int: -«int»
int: size(«string») | «string».size() | size(«L(A)») | «L(A)».size() | size(«M(K,A)»)
int: size(«bytes»)
int: int(«string») | int(«double») | int(«uint») | int(«timestamp») | int(«duration») | dyn(«int»)
int: «string».indexOf(«string») | «string».indexOf(«string», «int»)
int: «string».lastIndexOf(«string»)
int: «string».lastIndexOf(«string», «int») | «L(A)».indexOf(«A») | «L(A)».lastIndexOf(«A»)
int: «timestamp».getFullYear() | «timestamp».getMonth() | «timestamp».getDate()
int: «timestamp».getHours()
int: «timestamp».getDayOfWeek(«zone») | «timestamp».getHours(«zone»)
int: «timestamp».getMinutes(«zone»)
int: «timestamp».getDayOfYear() | «timestamp».getMilliseconds() | «duration».getHours()
int: «duration».getSeconds() | «duration».getMilliseconds() | «duration».getMinutes()
int: «quantity».compareTo(«quantity») | «quantity».asInteger() | sign(«quantity»)
int: «semver».compareTo(«semver») | «semver».major() | «semver».minor() | «semver».patch()
int: «ip».family() | «cidr».prefixLength()
uint: («uint» + «uint») | («uint» - «uint») | («uint» * «uint») | («uint» / «uint»)
uint: («uint» % «uint»)
uint: uint(«int») | uint(«double») | uint(«string»)
double: («double» + «double») | («double» - «double») | («double» * «double»)
double: («double» / «double»)
double: double(«int») | double(«uint») | double(«string») | -«double»
double: «quantity».asApproximateFloat()
string: («string» + «string») | «string».charAt(«int») | «string».lowerAscii()
string: «string».upperAscii()
string: «string».replace(«string», «string») | «string».replace(«string», «string», «int»)
string: «string».substring(«int») | «string».substring(«int», «int») | «string».trim()
string: dyn(«string»)
string: «L(string)».join() | «L(string)».join(«string») | strings.quote(«string») | string(«A»)
string: «string».find(«regex») | «url».getHost() | «url».getScheme() | «url».getPort()
string: «url».getHostname()
string: «url».getEscapedPath() | string(«timestamp») | string(«duration») | string(«bytes»)
string: string(«ip») | string(«cidr») | «template».format([«A», «B»]) | «template».format([«A»])
bytes: bytes(«string») | («bytes» + «bytes»)
timestamp: timestamp(«string») | («timestamp» + «duration») | («timestamp» - «duration»)
timestamp: timestamp(«int»)
timestamp: («duration» + «timestamp»)
duration: duration(«string») | («duration» + «duration») | («duration» - «duration»)
duration: («timestamp» - «timestamp») | duration(«int»)
quantity: quantity(«string») | «quantity».add(«quantity») | «quantity».sub(«quantity»)
quantity: «quantity».add(«int») | «quantity».sub(«int»)
semver: semver(«string») | semver(«string», «bool»)
ip: ip(«string») | «cidr».ip()
cidr: cidr(«string») | «cidr».masked()
url: url(«string»)
format: format.named(«string»).value() | format.dns1123Label() | format.uuid()
format: format.labelValue()
O(L(string)): «format».validate(«string»)
O(format): format.named(«string»)
L(string): «string».split(«string») | «string».split(«string», «int») | «string».findAll(«regex»)
L(string): «string».findAll(«regex», «int») | «M(string,A)».map($x, $x)
M(string,L(string)): «url».getQuery()
L(int): lists.range(«small»)
L(A): [«A»] | [«A», «A»] | [«A», «A», «A»] | [«A»,] | («L(A)» + «L(A)») | [] | dyn(«L(A)»)
L(A): «L(A)».filter($x, «bool|$x:A») | «L(B)».map($x, «A|$x:B»)
L(A): «L(B)».map($x, «bool|$x:B», «A|$x:B»)
L(A): «M(K,B)».map($x, «A|$x:K») | «M(A,B)».filter($x, «bool|$x:A») | «L(L(A))».flatten()
L(A): «L(A)».slice(«int», «int») | «L(A)».reverse() | «L(A)».distinct()
L(A): «L(A)».sortBy($x, «N|$x:A»)
L(A): «L(B)».transformList($x, $y, «A|$x:int,$y:B») | [?«O(A)»] | [«A», ?«O(A)»]
L(A): «L(B)».transformList($x, $y, «bool|$x:int,$y:B», «A|$x:int,$y:B») | «L(O(A))».unwrapOpt()
L(A): «M(K,B)».transformList($x, $y, «A|$x:K,$y:B») | optional.unwrap(«L(O(A))»)
L(N): «L(N)».sort()
M(A,B): {«A»: «B»} | {«A»: «B», «A»: «B»} | {} | {?«A»: «O(B)»} | dyn(«M(A,B)»)
M(A,B): «M(A,C)».transformMap($x, $y, «B|$x:A,$y:C»)
M(A,B): «M(C,D)».transformMapEntry($x, $y, {«A|$x:C»: «B|$y:D»})
M(A,B): «M(A,C)».transformMap($x, $y, «bool|$x:A,$y:C», «B|$x:A,$y:C»)
M(int,B): «L(C)».transformMap($x, $y, «B|$x:int,$y:C»)
O(A): optional.of(«A») | optional.none() | optional.ofNonZeroValue(«A») | «L(A)»[?«int»]
O(A): «M(K,A)»[?«K»]
O(A): «O(A)».or(«O(A)») | «O(B)».optMap($x, «A|$x:B») | «O(B)».optFlatMap($x, «O(A)|$x:B»)
O(A): «M(string,A)».?«field»
O(A): «L(A)».first() | «L(A)».last() | «O(L(A))»[?«int»]
A: («bool» ? «A» : «A») | «L(A)»[«int»] | «M(K,A)»[«K»] | «O(A)».orValue(«A») | «O(A)».value()
A: cel.bind($x, «B», «A|$x:B») | «M(string,A)».«field» | dyn(«A»)
A: dyn(«B»).orValue(«A») | null.orValue(«A»)
bool: has(«M(string,A)».«field») | has(«M(string,M(string,A))».«field».«field»)
N: «L(N)».min() | «L(N)».max()
U: «L(U)».sum()
"""

_POOLS: dict[str, tuple[str, ...]] = {
    "N": SCALARS,
    "S": ("int", "string", "double"),
    "K": ("string", "string", "int", "bool", "uint"),
    "U": ("int", "uint", "double", "duration"),
}
"""Types that a type variable of this name may stand for; any other letter stands for all."""

_HOLE = re.compile("«([^»|]+)(?:\\|([^»]*))?»")


class Hole(NamedTuple):
    """A place to fill: a type and the variables visible there."""

    type: Type
    variables: tuple[tuple[str, Type], ...]


class Production(NamedTuple):
    """An expression with holes: literal texts and holes in turn."""

    result: Type
    parts: tuple[str | Hole, ...]
    recursive: bool


def parse_type(text: str) -> Type:
    """Read `M(string,L(A))`."""
    name, _, rest = text.partition("(")
    if not rest:
        return (name,)
    return (name, *map(parse_type, _split(rest[:-1])))


def pool(variable: str, objects: tuple[str, ...] = OBJECTS) -> tuple[str, ...]:
    """Return what a type variable may stand for, given the object types that exist."""
    return _POOLS.get(variable, (*SIMPLE, *SCALARS, *objects))


def is_variable(kind: Type) -> bool:
    """Return whether a type is a variable: one letter; L, M and O have parameters."""
    return len(kind) == 1 and len(str(kind[0])) == 1 and str(kind[0]).isupper()


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _hole(match: re.Match[str]) -> Hole:
    bound = [part.partition(":") for part in _split(match[2])] if match[2] else []
    return Hole(parse_type(match[1]), tuple((name, parse_type(kind)) for name, _, kind in bound))


def _production(result: Type, text: str) -> Production:
    parts: list[str | Hole] = []
    position = 0
    for match in _HOLE.finditer(text):
        parts += [text[position : match.start()], _hole(match)]
        position = match.end()
    return Production(result, (*parts, text[position:]), recursive=position > 0)


def _productions() -> tuple[Production, ...]:
    found = []
    for line in _PRODUCTIONS.strip().splitlines():
        result, _, texts = line.partition(": ")
        found += [_production(parse_type(result), text) for text in texts.split(" | ")]
    return tuple(found)


PRODUCTIONS = _productions()
"""All productions of Kubernetes' environments."""

_CORE_FUNCTIONS = frozenset(
    (
        "", "all", "bool", "bytes", "contains", "double", "duration", "dyn", "endsWith", "exists",
        "exists_one", "filter", "getDate", "getDayOfWeek", "getDayOfYear", "getFullYear",
        "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds", "int", "map",
        "matches", "size", "startsWith", "string", "timestamp", "type", "uint",
    )
)  # fmt: skip
_CALLED = re.compile(r"([A-Za-z_.]*)\(")


def _is_core(production: Production) -> bool:
    texts = [part for part in production.parts if isinstance(part, str)]
    holes = [part for part in production.parts if isinstance(part, Hole)]
    called = {name.lstrip(".") for text in texts for name in _CALLED.findall(text)}
    types = {str(hole.type[0]) for hole in holes} | {str(production.result[0])}
    spelled = "".join(texts)
    # Optional values, two-variable macros and trailing commas came with later libraries.
    extended = "O" in types or "$y" in spelled or "?«" in spelled or ",]" in spelled
    return called <= _CORE_FUNCTIONS and not extended and not types & set(OBJECTS)


CORE = tuple(filter(_is_core, PRODUCTIONS))
"""Those of the CEL language definition alone, without any library."""
