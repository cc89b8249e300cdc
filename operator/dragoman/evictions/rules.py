"""DeviceTaintRules that evict, found by the device that they select."""

from collections.abc import Iterable, Iterator

from dragoman.inventory.facts.stored import StoredRule
from dragoman.model.taints import DeviceTaintRule

NO_EXECUTE = "NoExecute"
DeviceKey = tuple[str, str, str]
"""Driver, pool and device."""


def evicts(rule: StoredRule | None) -> bool:
    """Whether a rule evicts pods; unknown effects count as None (API: DeviceTaintEffect)."""
    return rule is not None and rule.rule.taint.effect == NO_EXECUTE


class ActiveRules:
    """Rules with effect NoExecute.

    Args:
        rules: All rules; those with other effects are left out.
    """

    def __init__(self, rules: Iterable[StoredRule] = ()) -> None:
        self._exact: dict[DeviceKey, dict[str, StoredRule]] = {}
        self._broad: dict[str, StoredRule] = {}
        for rule in rules:
            self.change(None, rule)

    def change(self, old: StoredRule | None, new: StoredRule | None) -> None:
        """Replace a rule by its next state; None where there is none."""
        if old is not None:
            name, key = old.metadata.name, _exact_key(old.rule)
            self._broad.pop(name, None)
            if key is not None and key in self._exact:
                self._exact[key].pop(name, None)
                if not self._exact[key]:
                    del self._exact[key]
        if new is not None and evicts(new) and new.rule.has_selector:
            key = _exact_key(new.rule)
            group = self._broad if key is None else self._exact.setdefault(key, {})
            group[new.metadata.name] = new

    def of(self, device: DeviceKey) -> Iterator[StoredRule]:
        """Yield the rules that select a device."""
        exact = self._exact.get(device)
        if exact:
            yield from exact.values()
        for rule in self._broad.values():
            if rule.rule.selects(device):
                yield rule


def _exact_key(rule: DeviceTaintRule) -> DeviceKey | None:
    """Return the only device that a rule can select; None where it may select several."""
    if rule.driver is None or rule.pool is None or rule.device is None:
        return None
    return rule.driver, rule.pool, rule.device
