"""Kinds as kubectl's users type them: singular, plural, short, with a group, or as `kind/name`."""

from collections.abc import Iterable

import click

from dragoman.cli.completing import offered
from dragoman_base.words.spelling import closest
from dragoman_toolkit import workloadkinds

SPELLINGS: dict[str, tuple[str, ...]] = {
    "pod": ("pods", "po"),
    "claim": ("claims", "resourceclaim", "resourceclaims"),
    "template": ("templates", "resourceclaimtemplate", "resourceclaimtemplates"),
    "class": ("classes", "deviceclass", "deviceclasses"),
    "node": ("nodes", "no"),
    "namespace": ("namespaces", "ns"),
    "device": ("devices", "dev"),
    "queue": ("queues", "clusterqueue", "clusterqueues"),
}
"""Kinds by their name here, with what else they are called; groups may follow a dot."""
WORKLOADS = tuple(workloadkinds.KINDS)
"""Kinds that make pods; they stand for their pods wherever a pod is named."""
GROUPS = ("resource.k8s.io", "v1", "v1.resource.k8s.io")
_KINDS = {spelling: kind for kind, others in SPELLINGS.items() for spelling in (kind, *others)}


def spellings(kind: str) -> tuple[str, ...]:
    """Return what else a kind is called."""
    return SPELLINGS[kind] if kind in SPELLINGS else workloadkinds.KINDS[kind].spellings


def kind_of(text: str) -> str:
    """Return the kind that a word means; empty where it means none."""
    word, _, group = text.lower().partition(".")
    if word in _KINDS:
        return _KINDS[word] if not group or group in GROUPS else ""
    return next((name for name in WORKLOADS if _is_workload(name, word, group)), "")


def _is_workload(name: str, word: str, group: str) -> bool:
    """Whether `word.group` means a workload; a version may stand before the group."""
    kind = workloadkinds.KINDS[name]
    groups = ("", kind.group, *(f"{one}.{kind.group}" for one in kind.versions), *kind.versions)
    exact = bool(group) and word in (kind.kind.lower(), kind.plural)
    return (word in (name, *kind.spellings) or exact) and group in groups


def required_kind(text: str, allowed: Iterable[str]) -> str:
    """Return the kind that a word means; raise click.UsageError with a suggestion."""
    known = [*allowed]
    kind = kind_of(text)
    if kind in known:
        return kind
    written = [one for found in known for one in (found, *spellings(found))]
    near = closest(text.lower(), written)
    hint = f'; did you mean "{near}"?' if near else ""
    raise click.UsageError(f'unknown kind "{text}": kinds are {", ".join(known)}{hint}')


AUTOSCALER = "autoscaler"
"""What `explain` takes in place of an object: why no nodes are added."""


def subject(words: tuple[str, ...], allowed: Iterable[str], default: str) -> tuple[str, str]:
    """Return kind and name of `KIND NAME`, `KIND/NAME` or `NAME`.

    Args:
        words: One or two arguments.
        allowed: Kinds that a command knows.
        default: The kind of a name alone.

    Raises:
        click.UsageError: A kind without a name, or no known kind.
    """
    known = [*allowed]
    if len(words) == 2:
        first, name = words
        if "/" in first:
            raise click.UsageError(
                f"{first}: there is no need to name a kind in an argument of its own: "
                "give `KIND NAME` or `KIND/NAME`"
            )
        return required_kind(first, known), name
    (word,) = words
    if kind_of(word) in known:
        raise click.UsageError(f"give a name as well, as `{word} NAME` or `{word}/NAME`")
    first, slash, rest = word.partition("/")
    if slash and kind_of(first) in known:
        if not rest:
            raise click.UsageError(f"give a name as well, as `{first}/NAME`")
        return kind_of(first), rest
    # driver/pool/device: drivers are DNS names, and no name of a kind has a dot.
    if word.count("/") > 1 and "device" in known:
        return "device", word
    return default, word


class What(click.ParamType[str]):
    """A kind whose rows are wanted, in any spelling; it becomes the plural that is named here.

    Args:
        plurals: What there is, such as `classes` and `nodes`.
    """

    name = "what"

    def __init__(self, plurals: Iterable[str]) -> None:
        self.plurals = [*plurals]

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the plural; fail with a suggestion."""
        kind = kind_of(value)
        found = next((one for one in self.plurals if kind and kind_of(one) == kind), None)
        if found is None:
            near = closest(value.lower(), self._spellings())
            there = ", ".join(self.plurals)
            hint = f'; did you mean "{near}"?' if near else ""
            self.fail(f'unknown kind "{value}": there are {there}{hint}', param, ctx)
        return found

    def _spellings(self) -> list[str]:
        kinds = map(kind_of, self.plurals)
        return [one for kind in kinds for one in (kind, *spellings(kind))]

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 — click's signature
        param: click.Parameter,  # noqa: ARG002 — click's signature
        incomplete: str,
    ) -> "list[click.shell_completion.CompletionItem]":
        """Offer the plurals."""
        return offered(self.plurals, incomplete)
