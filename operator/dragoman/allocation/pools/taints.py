"""Taints of devices, those of DeviceTaintRules, and tolerations (KEP-5055)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

from dragoman.allocation.features import Profile
from dragoman.model.device import Content, Device, Traits
from dragoman.model.slice import Slice
from dragoman.model.taints import DeviceTaintRule, Taint, Toleration

_EFFECTS = ("NoSchedule", "NoExecute")
_contents: WeakValueDictionary[tuple[Content, tuple[Taint, ...]], Content] = WeakValueDictionary()
"""Contents with the taints of rules, while any slice has them."""
_traits: WeakValueDictionary[tuple[Traits, tuple[Taint, ...]], Traits] = WeakValueDictionary()


def tainted(item: Slice, rules: Iterable[DeviceTaintRule], profile: Profile) -> Slice:
    """Return a slice with the taints of all rules that select its devices.

    The scheduler appends them in no particular order; here rules go by name.
    """
    if not (profile.features.DeviceTaints and profile.taint_rules):
        return item
    concerned = sorted(
        (rule for rule in rules if _selects(rule, item, profile)), key=lambda rule: rule.name
    )
    if not concerned:
        return item
    devices = tuple(_with_taints(device, concerned) for device in item.devices)
    return replace(item, devices=devices)


def _selects(rule: DeviceTaintRule, item: Slice, profile: Profile) -> bool:
    if not rule.has_selector and profile.rules_need_selector:
        return False
    return rule.concerns(item.driver, item.pool)


def _with_taints(device: Device, rules: Iterable[DeviceTaintRule]) -> Device:
    taints = tuple(rule.taint for rule in rules if rule.device in (None, device.name))
    if not taints:
        return device
    return Device(device.name, _content(device.content, taints))


def _content(content: Content, taints: tuple[Taint, ...]) -> Content:
    """Return the content with more taints; equal devices stay equal."""
    found = _contents.get((content, taints))
    if found is None:
        traits = _traits.setdefault((content.traits, taints), Traits())
        found = replace(content, taints=content.taints + taints, traits=traits)
        _contents[content, taints] = found
    return found


def untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """Return the first taint that keeps a device from a request, None if there is none."""
    return next(all_untolerated(taints, tolerations), None)


def all_untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Iterator[Taint]:
    """Yield the taints that keep a device from a request."""
    for taint in taints:
        if taint.effect in _EFFECTS and not any(one.tolerates(taint) for one in tolerations):
            yield taint
