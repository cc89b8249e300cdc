"""How a value of one field becomes one without names: kept, a token, or left out.

A treatment takes the names and a value. Integers and booleans are no names; a value of another type
than its field has becomes an empty one of that type, and so stays malformed.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.model.amounts import AmountError, amount
from dragoman_cel.syntax.literals import LiteralError, string
from dragoman_cel.syntax.tokens import Token, tokenize
from dragoman_toolkit.anonymous import vocabulary
from dragoman_toolkit.anonymous.publishednames import PublishedNames
from dragoman_toolkit.anonymous.tokens import (
    NODE,
    PLUGIN_RESOURCES,
    RESOURCE,
    SeenNames,
    Tokens,
)

LEFT_OUT = "(left out)"


@dataclass(frozen=True, slots=True)
class NameTreatment:
    """What a treatment asks."""

    token: SeenNames | Tokens  # Returns the token of a name in a table
    published: PublishedNames  # Names that stay

    def fact(self, text: str) -> str:
        """Return what a driver publishes; the name of a node as its token."""
        known = self.token.has(NODE, text) and text not in self.published.words
        return self.token(NODE, text) if known else text


Treatment = Callable[[NameTreatment, Any], Any]


def empty(value: Any) -> Any:
    """Return a value of the same JSON type that says nothing."""
    if isinstance(value, str):
        return LEFT_OUT
    if isinstance(value, list):
        return []
    return {} if isinstance(value, Mapping) else value


def _of_texts(treat: Callable[[NameTreatment, str], str]) -> Treatment:
    def treated(names: NameTreatment, value: Any) -> Any:
        return treat(names, value) if isinstance(value, str) and value else _unnamed(value)

    return treated


def _unnamed(value: Any) -> Any:
    return "" if value == "" else empty(value)


def named(table: str, keep: frozenset[str] = frozenset()) -> Treatment:
    """Return a treatment that replaces names by the tokens of a table."""
    return _of_texts(lambda names, text: text if text in keep else names.token(table, text))


def words(*known: str) -> Treatment:
    """Return a treatment that keeps the API's words and leaves all others out."""
    found = frozenset(known)
    return _of_texts(lambda _, text: text if text in found else LEFT_OUT)


def _matching(pattern: re.Pattern[str]) -> Treatment:
    return _of_texts(lambda _, text: text if pattern.fullmatch(text) else LEFT_OUT)


def _publishing(table: str, of: Callable[[PublishedNames], frozenset[str]]) -> Treatment:
    def treat(names: NameTreatment, text: str) -> str:
        return text if text in of(names.published) else names.token(table, text)

    return _of_texts(treat)


def _qualified(table: str, of: Callable[[PublishedNames], frozenset[str]]) -> Treatment:
    """Return a treatment of names with a domain, whose tokens have one too."""

    def treat(names: NameTreatment, text: str) -> str:
        if text in of(names.published):
            return text
        token = names.token(table, text).replace("-", "_")
        return f"left-out.example/{token}" if "/" in text else token

    return _of_texts(treat)


def _value(names: NameTreatment, text: str) -> str:
    # Gt and Lt compare numbers, so these stay.
    if text in vocabulary.VALUES or vocabulary.NUMBER.fullmatch(text):
        return text
    return names.token("value", text) if vocabulary.LABEL_VALUE.fullmatch(text) else LEFT_OUT


def _key(names: NameTreatment, text: str) -> str:
    if text in vocabulary.KEYS:
        return text
    return names.token("label", text) if vocabulary.LABEL_KEY.fullmatch(text) else LEFT_OUT


def _class(names: NameTreatment, text: str) -> str:
    return text if text in names.published.classes else names.token("class", text)


def _resource(names: NameTreatment, text: str) -> str:
    if text in PLUGIN_RESOURCES or vocabulary.RESOURCES.fullmatch(text):
        return text
    if text.startswith(vocabulary.IMPLICIT):
        return vocabulary.IMPLICIT + _class(names, text.removeprefix(vocabulary.IMPLICIT))
    return names.token(RESOURCE, text)


def _device(names: NameTreatment, text: str) -> str:
    if text in names.published.devices:
        return names.fact(text)
    return names.token("device", text)


def _request(names: NameTreatment, text: str) -> str:
    return "/".join(names.token("request", part) for part in text.split("/"))


def _owner(names: NameTreatment, text: str) -> str:
    """Replace the name of an owner; that of a driver's DaemonSet contains its program's name."""
    parts = (one for one in sorted(names.published.managers - vocabulary.PROGRAMS) if one in text)
    return "-".join((names.token("object", text), *(names.token("program", one) for one in parts)))


def _path(names: NameTreatment, text: str) -> str:
    """Keep of a host path which folder of the kubelet it is."""
    parts = set(text.split("/"))
    if "plugins_registry" in parts:
        return "/var/lib/kubelet/plugins_registry"
    drivers = sorted(parts & names.published.drivers)
    return f"/var/lib/kubelet/plugins/{drivers[0]}" if drivers else LEFT_OUT


def _image(_: NameTreatment, text: str) -> str:
    """Keep of an image its last part, where a verdict on that version of a driver is shipped."""
    last = text.rpartition("/")[2]
    return last if last in vocabulary.IMAGES else LEFT_OUT


def _webhook(names: NameTreatment, text: str) -> str:
    return names.token("webhook", text) + (
        vocabulary.OWN_WEBHOOK if text.endswith(vocabulary.OWN_WEBHOOK) else ""
    )


def _expression(names: NameTreatment, text: str) -> str:
    """Leave comments out of a CEL expression, and replace strings that are names of nodes."""
    tokens, error = tokenize(text)
    if error is not None:
        return LEFT_OUT
    found = [token for _, token in tokens]
    ends = [token.pos for token in found[1:]] + [len(text)]
    parts = (
        _part(names, token, text[token.pos : end]) for token, end in zip(found, ends, strict=False)
    )
    return "".join(parts).rstrip()


def _part(names: NameTreatment, token: Token, source: str) -> str:
    """Return a token as written, and the space behind it."""
    if token.kind not in vocabulary.CONTAINERS:
        return vocabulary.COMMENT.sub("", source)
    rest = vocabulary.COMMENT.sub("", source[len(token.text) :])
    return (_literal(names, token.text) if token.kind == "STRING" else token.text) + rest


def _literal(names: NameTreatment, text: str) -> str:
    try:
        value = string(text)
    except LiteralError:
        return text
    fact = names.fact(value)
    return text if fact == value else json.dumps(fact)


def _resource_id(names: NameTreatment, text: str) -> str:
    """Keep the device at the end of an ID that the kubelet reports."""
    device = text.rpartition("/")[2]
    return f"left-out/{_device(names, device)}" if device in names.published.devices else LEFT_OUT


def number(_: NameTreatment, value: Any) -> Any:
    """Keep integers and booleans."""
    return empty(value)


def quantity(_: NameTreatment, value: Any) -> Any:
    """Keep quantities."""
    if not isinstance(value, str):
        return empty(value)
    try:
        amount(value)
    except (AmountError, ValueError):
        return LEFT_OUT
    return value


def version(kubernetes: str) -> str:
    """Return the version of a server without what its vendor added."""
    found = re.match(r"v?[0-9]{1,4}(\.[0-9]{1,4}){0,2}", kubernetes, re.ASCII)
    return found.group() if found else ""


NODE_NAME = named(NODE)
NAMESPACE = named("ns")
OBJECT = named("object")
UID = named("uid")
ENTRY = named("entry")
PROGRAM = named("program", vocabulary.PROGRAMS)
SCHEDULER = named("scheduler", frozenset({"default-scheduler"}))
CONDITION = named("condition", frozenset({"Ready", "PodScheduled", "Initialized"}))
FINALIZER = named("finalizer", frozenset({vocabulary.FINALIZER}))
KIND = named(
    "kind",
    frozenset({"DaemonSet", "DeviceMaintenance", "Job", "Node", "Pod", "PodGroup", "ReplicaSet"}),
)
CLASS = _of_texts(_class)
RESOURCE_NAME = _of_texts(_resource)
DEVICE = _of_texts(_device)
DRIVER = _publishing("driver", lambda published: published.drivers)
ATTRIBUTE = _qualified("attribute", lambda published: published.attributes)
CAPACITY = _qualified("capacity", lambda published: published.capacities)
REQUEST = _of_texts(_request)
FACT = _of_texts(NameTreatment.fact)
KEY = _of_texts(_key)
VALUE = _of_texts(_value)
OWNER = _of_texts(_owner)
PATH = _of_texts(_path)
IMAGE = _of_texts(_image)
WEBHOOK = _of_texts(_webhook)
EXPRESSION = _of_texts(_expression)
RESOURCE_ID = _of_texts(_resource_id)
VERSION = _of_texts(lambda _, text: version(text))
TIME = _matching(vocabulary.TIMES)
API_VERSION = _matching(vocabulary.GROUPS)
REASON = words(
    *("Unschedulable", "SchedulingGated", "SchedulerError", "KubeletReady", "KubeletNotReady"),
    *("ContainerCreating", "PodInitializing", "CrashLoopBackOff", "ImagePullBackOff"),
    *("ErrImagePull", "InvalidImageName", "RunContainerError", "CreateContainerError"),
    *("CreateContainerConfigError", "ContainersNotReady", "NodeStatusUnknown"),
)


def quota_key(names: NameTreatment, text: str) -> str | None:
    """Return the key of a quota for devices; None for all others, which nothing reads."""
    if not text.endswith(vocabulary.QUOTA):
        return None
    return _class(names, text.removesuffix(vocabulary.QUOTA)) + vocabulary.QUOTA
