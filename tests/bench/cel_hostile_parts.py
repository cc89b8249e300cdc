"""Expressions of which the calls of `tests.bench.cel_hostile` are made."""

ATOMS: dict[str, tuple[str, ...]] = {
    "bool": ("true", "i < j", "j == 7"),
    "int": ("i", "j", "0", "-1", "9223372036854775807", "-9223372036854775807", "100000 * i"),
    "uint": ("0u", "uint(j)", "18446744073709551615u"),
    "double": ("0.5", "1e308", "-1e-300", "double(j)"),
    "string": (
        "''",
        "'x'",
        "'12'",
        "'abc'",
        "'1.5Gi'",
        "'é' + 'a'",
        "string(j)",
        "string(i) + string(j)",
        "'(a*)*b'",
        "'b{500}c*'",
        "'2020-01-01T00:00:00.123456789Z'",
        "'America/New_York'",
        "'+01:30'",
        "'1h2m3.5s'",
        "'2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff'",
        "'fe80::/10'",
        "'http://u:p@[::1]:80/%41?a=1;b=%42'",
        "'%s%d%x%e'",
        "'1.2.3-a.b.c+d'",
        "device.driver",
        "'true'",
        "'1e500'",
        "'0x1p-1000'",
        "LT",
        "LT + 'x'",
        "LT + string(j)",
        "LP",
    ),
    "bytes": ("b''", "b'abc'", "bytes(string(j))", "BY"),
    "timestamp": ("TS", "timestamp(0)", "timestamp(100000 * i)"),
    "duration": ("DU", "duration('1h2m3.5s')", "timestamp(i) - timestamp(j)"),
    "kubernetes.Quantity": (
        "QL",
        "QS",
        "QL.add(i)",
        "QS.sub(j)",
        "quantity('1e500')",
        "quantity(string(i))",
    ),
    "kubernetes.Semver": ("SV", "SW", "semver('1.2.3')"),
    "kubernetes.URL": ("UR", "url('http://a:1/b?c=d')"),
    "kubernetes.NamedFormat": (
        "format.dns1123Subdomain()",
        "format.uri()",
        "format.datetime()",
        "format.labelValue()",
    ),
    "net.IP": ("I6", "ip('10.0.0.1')", "C6.ip()"),
    "net.CIDR": ("C6", "cidr('10.0.0.0/8')"),
    "type": ("type(i)", "type([])"),
}
"""Expressions of each type; names in capitals are bound outside of the loops."""

LISTS = {
    "bool": "{n}.map(x, x % 2 == 0)",
    "int": "{n}",
    "uint": "{n}.map(x, uint(x))",
    "double": "{n}.map(x, double(x))",
    "string": "{n}.map(x, string(x))",
    "bytes": "{n}.map(x, bytes(string(x)))",
    "timestamp": "{n}.map(x, timestamp(x))",
    "duration": "{n}.map(x, timestamp(x) - timestamp(0))",
    "kubernetes.Quantity": "{n}.map(x, QL)",
    "kubernetes.Semver": "{n}.map(x, SV)",
    "net.IP": "{n}.map(x, I6)",
    "dyn": "{n}.map(x, x % 2 == 0 ? dyn(x) : dyn(string(x)))",
    "optional": "{n}.map(x, optional.of(x))",
    "list(int)": "{n}.map(x, [x, x])",
    "list(string)": "{n}.map(x, [LT])",
    "map(string, int)": "{n}.map(x, {{'a': x}})",
}
"""A long list of each type of element; `{n}` is a range."""

BOUND = {
    "BY": "bytes(LT)",
    "TS": "timestamp('2020-01-01T00:00:00.123456789Z')",
    "DU": "duration('2562047h47m16.854775807s')",
    "QL": f"quantity('{'9' * 490}')",
    "QS": "quantity('1.5Gi')",
    "SV": f"semver('1.2.3-{'a.' * 120}b')",
    "SW": f"semver('1.2.3-{'a.' * 120}c')",
    "UR": f"url('http://{'a' * 500}:80/?{'a=1;' * 100}')",
    "I6": "ip('2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff')",
    "C6": "cidr('fe80::/10')",
    "LP": "'a{{9}}(b|c)*' + LT.substring(0, 16)",
    "MI": "{n}.transformMap(k, w, w)",
    "MS": "{n}.transformMapEntry(k, w, {{string(w): w}})",
    **{f"L{number}": text for number, text in enumerate(LISTS.values())},
}
"""Values by name."""

LIST_NAMES = {kind: f"L{number}" for number, kind in enumerate(LISTS)}

PARAMETERS = ("int", "string", "double", "dyn", "list(int)", "kubernetes.Quantity", "bytes")
"""Types that stand for a type parameter of a signature."""

OPERATORS = {
    "_?_:_": "({0} ? {1} : {2})",
    "_[_]": "{0}[{1}]",
    "_[?_]": "{0}[?{1}]",
    "@in": "({0} in {1})",
}
"""Functions that are not called by their name."""

MACROS = (
    "{list}.sortBy(x, {any})",
    "{list}.sortBy(x, x)",
    "{list}.map(x, {any})",
    "{list}.filter(x, {bool})",
    "{list}.exists_one(x, {bool})",
    "{list}.all(x, {bool} || true)",
    "{list}.exists(x, {error} > i && false)",
    "{list}.transformList(k, w, {any})",
    "{list}.transformMap(k, w, {any})",
    "{list}.transformMapEntry(k, w, {map})",
    "'%s'.format([{any}])",
    "'%s%d%x'.format([{any}, {int}, {string}])",
    "'%.3f%e'.format([{double}, {double}])",
    "[{any}, {any}, {any}]",
    "{{{string}: {any}, {int}: {any}}}",
    "cel.bind(b, {any}, [b, b])",
    "optional.of({any}).optMap(x, [x])",
    "({error} || {error})",
    "({error} || {bool} || {error})",
    "{any} in {list}",
    "{list} == {list}",
    "{list} + {list}",
    "{map} == {map}",
    "includes({any}, {any})",
    "device.attributes['x']['l'].includes({any})",
    "device.attributes['x'].?b.orValue({any})",
    "[dyn({any}), dyn({list})].flatten({int})",
)
"""Expressions that no signature describes."""

ERRORS = (
    "1 / 0",
    "int('x')",
    "[1][j + 1]",
    "{'a': 1}[string(j)]",
    "ip('x')",
    "quantity('x')",
    "timestamp('x')",
    "duration('x')",
    "semver('x')",
    "url('x')",
    "uint(-1)",
    "LT.charAt(-1)",
    "optional.none().value()",
    "dyn('x') + 1",
    "int(1e308)",
    "LT.matches('(')",
)
