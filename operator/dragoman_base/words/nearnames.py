"""Candidates for a misspelt name or value: the one knowledge of `check`, `explain` and `doctor`.

A candidate is a name of the same kind that exists. `near` proposes it for one of three reasons, the
surest first: it differs in case alone, in few edits, or it contains what was written (`H100` in
`NVIDIA H100 80GB HBM3`, `nvidia.com` in `gpu.nvidia.com`). Whether the candidate would help is for
the caller to find out, by evaluation.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from dragoman_base.words import listed, natural
from dragoman_base.words.spelling import MAX_CANDIDATES, allowed, closest, edit_distance

CANDIDATES = 3
"""Candidates for one name."""
SHORTEST_PART = 3
"""Letters of a text that may stand for a longer one: a shorter one must be a word of it."""
_WORDS = re.compile(r"[^\W_]+")


def near(name: str, known: Collection[str], *, most: int = CANDIDATES) -> tuple[str, ...]:
    """Return the known names that may be meant, the likeliest first; none where `name` is known.

    Args:
        name: As written.
        known: Names of the same kind.
        most: Names returned at most.
    """
    if not name or name in known:
        return ()
    ranks = ((_rank(name, one), one) for one in sorted(known)[:MAX_CANDIDATES])
    return tuple(one for _, one in sorted(found for found in ranks if found[0])[:most])


def did_you_mean(name: str, known: Collection[str], said: Mapping[str, str] | None = None) -> str:
    """Return a hint: names that go on as this one begins, else the nearest, as `said` has them."""
    longer = sorted((one for one in known if len(name) > 2 and one.startswith(name)), key=natural)
    alike = [one for one in known if one[:2] == name[:2]] or known  # Of many, some are compared
    found = longer or filter(None, [closest(name, alike) or closest(name, known)])
    names = listed((said[one] if said else one for one in found), CANDIDATES)
    return f"; did you mean {names}?" if names else ""


def _rank(name: str, known: str) -> tuple[int, int] | None:
    """Return how far a known name is from what was written; None where it is another name."""
    one, two = name.casefold(), known.casefold()
    if one == two:
        return 0, 0
    edits = edit_distance(name, known, allowed(name, known))
    if edits is not None and not _may_be_one_model(one, two):
        return None
    if edits is not None and edits <= 2:
        return 1, edits
    if one in two and (len(one) >= SHORTEST_PART or one in _WORDS.findall(two)):
        return 2, len(two) - len(one)
    return None if edits is None else (3, edits)


def _may_be_one_model(one: str, two: str) -> bool:
    """Tell whether words with digits may be the same: `A100` is no slip of `H100`, `H10` may be."""
    short, long = sorted((_numbered(one), _numbered(two)), key=len)
    if len(short) == len(long):
        return sorted(short) == sorted(long)
    rest = iter(long)
    return all(letter in rest for letter in short)


def _numbered(name: str) -> str:
    """Return the words of a name that have digits, as one."""
    return "".join(one for one in _WORDS.findall(name) if any(map(str.isdigit, one)))


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the likeliest of `near`, None where there is none."""
    return next(iter(near(name, known, most=1)), None)


def certain(name: str, known: Collection[str]) -> str | None:
    """Return the one known name that may be meant; None where there is none, or a choice."""
    found = near(name, known, most=2)
    return found[0] if len(found) == 1 else None


def alike(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Return what may be meant by a text that is compared with names, or with a part of them.

    That is the text in the letters' case of a name, the part of a name that has the same letters
    and digits, or a name near it.
    """
    found = []
    plain = "".join(_WORDS.findall(text)).casefold()
    for one in sorted(known)[:MAX_CANDIDATES]:
        found.append(_WORDS.sub(partial(_cased, one), text))
        shown = ((place, letter) for place, letter in enumerate(one) if letter.isalnum())
        letters = [(place, each) for place, letter in shown for each in letter.casefold()]
        begin = "".join(each for _, each in letters).find(plain)  # without case, ß is ss
        if begin >= 0 and len(plain) >= SHORTEST_PART:
            found.append(one[letters[begin][0] : letters[begin + len(plain) - 1][0] + 1])
    found += [*near(text, known), text.lower(), text.upper()]
    return tuple(one for one in dict.fromkeys(found) if one != text)


def _cased(name: str, word: re.Match[str]) -> str:
    """Return a word as a name has it."""
    begin = name.casefold().find(word[0].casefold())
    return name[begin : begin + len(word[0])] if begin >= 0 else word[0]


def near_driver(name: str, known: Collection[str]) -> str | None:
    """Return the driver that may be meant; `nvidia.com/gpu`, a resource, is `gpu.nvidia.com`."""
    domain, slash, local = name.partition("/")
    turned = f"{local}.{domain}"
    if slash:
        return turned if turned in known else nearest(turned, known) or nearest(domain, known)
    return nearest(name, known)


def near_attribute(domain: str, name: str, known: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the attribute or capacity that may be meant, by domain and name; empty for none.

    An attribute is both together: the name may be right and stand in another domain, as `pcieRoot`
    in that of a driver; the domain may be misspelt; or the name is, within its domain.

    Args:
        domain: As written.
        name: As written.
        known: What is published.
    """
    published: dict[str, set[str]] = {}
    for one, local in known:
        published.setdefault(one, set()).add(local)
    own = published.get(domain, set())
    if name in own:
        return "", ""
    if guess := nearest(name, own):
        return domain, guess
    having = [one for one, names in published.items() if name in names]
    if there := nearest(domain, having) or (having[0] if len(having) == 1 else ""):
        return there, name
    found = ((one, nearest(name, published[one])) for one in near(domain, published))
    return next(((one, guess) for one, guess in found if guess), ("", ""))


def elsewhere(key: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return namespaces other than its own that have an object of this name.

    Args:
        key: `namespace/name`.
        known: `namespace/name` of all objects of the kind.
    """
    namespace, _, name = key.partition("/")
    return tuple(
        sorted(
            one.partition("/")[0]
            for one in known
            if one.partition("/")[2] == name and one.partition("/")[0] != namespace
        )
    )
