"""Which objects -l and --field-selector mean."""

from dataclasses import dataclass

ENDED = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector of pods that have not ended."""


@dataclass(frozen=True, slots=True)
class ObjectSelection:
    """Which objects are meant, in the words of the API server; empty for all."""

    labels: str = ""  # A label selector
    fields: str = ""  # A field selector

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)
