"""Expressions that would run for hours, or fill the memory, without limits."""

from itertools import pairwise

TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"


def nested(template: str, times: int, inside: str) -> str:
    """Nest a template several times around an expression."""
    for number in range(times):
        inside = template.format(n=number, inside=inside)
    return inside


def chained(first: str, step: str, last: str, times: int = 60) -> str:
    """Bind a value, then `times` values each of the one before, and end in `last`."""
    names = [f"v{number}" for number in range(times)]
    text = f"cel.bind(v0, {first}, "
    for before, name in pairwise(names):
        text += f"cel.bind({name}, {step.replace('@', before)}, "
    return text + last.replace("@", names[-1]) + ")" * times


def repeated(first: str, test: str) -> str:
    """Bind a value, and evaluate a test on it many times."""
    return f"cel.bind(v, {first}, lists.range(30000).all(i, {test.replace('@', 'v')} || true))"


def many(test: str) -> str:
    """Evaluate a test 360,000 times."""
    return f"cel.bind(r, lists.range(600), r.all(i, r.all(j, {test} || true)))"


def long(body: str) -> str:
    """Bind a text of 65,536 digits as `@` of a body."""
    return chained("'" + "9" * 64 + "'", "@ + @", body, 11)


def beside(one: str, other: str, test: str) -> str:
    """Compare two values made of a long text `@` many times."""
    return long(f"cel.bind(one, {one}, cel.bind(other, {other}, {many(test)}))")


RUNAWAYS = {
    "seven nested loops": nested(TEN + ".all(x{n}, {inside})", 7, "true"),
    "loops that fail": nested(TEN + ".all(x{n}, {inside})", 7, "1 / 0 == 1"),
    "nested lists of lists": nested(TEN + ".map(x{n}, {inside})", 7, "1") + ".size() > 0",
    "loops that cost nothing": nested(
        "lists.range(500).filter(x{n}, {inside}).size() > 0", 3, "false"
    ),
    "a list that doubles": chained("[1]", "@ + @", "size(@) > 0"),
    "a text that doubles": chained("'x'", "@ + @", "size(@) > 0"),
    "a list of itself twice": chained("[1]", "[@, @]", "@ == @"),
    "a map of itself twice": chained("{'a': 1}", "{'a': @, 'b': @}", "@ == @"),
    "printing such a list": chained("[1]", "[@, @]", "'%s'.format([@]) == ''"),
    "walking such a list": chained("[dyn(1)]", "[dyn(@), dyn(@)]", "@.indexOf(1) == 0"),
    "such a list as a set": chained("[dyn(1)]", "[dyn(@), dyn(@)]", "sets.contains(@, @)"),
    "a range beyond memory": "lists.range(1000000000000).size() > 0",
    "sorting a long range": "lists.range(99900).sort().size() > 0",
    "a long range made distinct": "lists.range(10000).distinct() == []",
    "lists that cannot be joined": repeated(
        "lists.range(2000).map(i, i < 1999 ? dyn('a') : dyn(i))", "@.join() == ''"
    ),
    "a list of optionals unwrapped again and again": repeated(
        "lists.range(2000).map(i, optional.of(i))", "optional.unwrap(@) == []"
    ),
    "a long host cut out again and again": repeated(
        f"url('http://{'a' * 60000}')", "@.getHostname() == ''"
    ),
    "a long query read again and again": repeated(
        f"url('/?{'a=1;' * 15000}')", "@.getQuery().size() == 1"
    ),
    "a large map merged again and again": repeated(
        "lists.range(2000).transformMap(i, v, v)", "[1].transformMapEntry(k, w, @) == {}"
    ),
    "a list of times printed again and again": repeated(
        "lists.range(100).map(i, timestamp(i))", "'%s'.format([@]) == ''"
    ),
    "a long text looked up in a list of another one": chained(
        "'" + "x" * 64 + "'",
        "@ + @",
        "cel.bind(l, lists.range(2000).map(i, @), "
        "lists.range(20).all(i, !((@ + 'y').substring(1) in l)))",
        11,
    ),
    "a list of one long text sorted": chained(
        "'" + "x" * 64 + "'", "@ + @", "dyn(lists.range(5000).map(i, @)).sort() == []", 11
    ),
    "addresses read": many("cidr('fe80::/10' + '').containsIP('fe80::1')"),
    "zones looked up": many("timestamp(i * 100000).getFullYear('America/New_York') == 25"),
    "quantities of many digits added": many(
        f"quantity('{'9' * 490}').add(1).add(i).compareTo(quantity('1e400')) == 0"
    ),
    "quantities of many digits printed": many(
        f"{{'a': 1}}[dyn(quantity('{'9' * 490}').add(i))] > 1"
    ),
    "optional quantities of many digits": many(
        f"cel.bind(o, optional.of(quantity('{'9' * 490}').add(i)), !o.hasValue())"
    ),
    "long versions read": many(f"semver('1.2.3-{'a.' * 240}' + 'b').major() == 0"),
    "patterns compiled": many("'aaa'.matches(string(i) + string(j) + 'b{500}c*')"),
}
"""Expressions by description; cost or plain steps end them."""

UNDERCHARGED = {
    "numbers read": long(many("double(@) > 0.0")),
    "timestamps read": long(many("timestamp(@) > timestamp(0)")),
    "durations read": long(many("duration(@) > duration('1s')")),
    "URLs read": long(many("isURL(@)")),
    "long addresses read": long(many("isIP(@)")),
    "long addresses looked up": long(many("cidr('10.0.0.0/8').containsIP(@)")),
    "long zones looked up": long(many("timestamp(0).getHours(@) == 1")),
    "texts printed": long(many("'%s'.format([@]) == ''")),
    "texts quoted": long(many("'%s'.format([[@]]) == ''")),
    "texts printed in hexadecimal": long(many("'%x'.format([@]) == ''")),
    "many decimals printed": many("'%.100000f'.format([1.0]) == ''"),
    "short texts that grow long": long(many("'999999'.replace('9', @) == ''")),
    "empty matches": long(many("@.findAll('') == []")),
    "matches that each read all of the text": long(many("@.findAll('8*9|7') == []")),
    "patterns matched as a global function": long(many("matches(@, '8*7')")),
    "absent keys": long(many("{'a': 1}[@] == 1")),
    "percent signs": beside("@.replace('9', '%')", "[]", "one.format(other) == ''"),
    "keys asked for": beside("@ + '1'", "{@ + '1': 1}", "one in other"),
    "keys looked up": beside("@ + '1'", "{@ + '1': 1}", "other[one] == 2"),
    "texts put in order": beside("@ + '1'", "@ + '2'", "dyn(one) < dyn(other)"),
}
"""Expressions whose CEL cost is too low for their time; plain steps alone end them."""
