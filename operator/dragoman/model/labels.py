"""Label selectors (API: meta/v1 LabelSelector)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from dragoman.model.fields import Document, MalformedObjectError, items, mapping, text, texts

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One requirement on a label."""

    key: str  # Of the label
    operator: str  # One of `OPERATORS`
    values: frozenset[str] = frozenset()  # For In and NotIn

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfill the requirement; NotIn also matches without the label."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that labels fulfill together; without any, every object matches."""

    requirements: tuple[LabelRequirement, ...] = ()

    @classmethod
    def parse(cls, document: Document, within: str) -> Self:
        """Parse a LabelSelector; raise MalformedObjectError naming the field."""
        labels = mapping(document, "matchLabels", within)
        found = [
            LabelRequirement(key, "In", frozenset({text(labels, key, f"{within}matchLabels.")}))
            for key in labels
        ]
        for index, item in enumerate(items(document, "matchExpressions", within)):
            place = f"{within}matchExpressions[{index}]."
            operator = text(item, "operator", place)
            if operator not in OPERATORS:
                raise MalformedObjectError(
                    f"{place}operator: expected one of {', '.join(OPERATORS)}, found {operator!r}"
                )
            values = frozenset(texts(item, "values", place))
            found.append(LabelRequirement(text(item, "key", place), operator, values))
        return cls(tuple(found))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfill every requirement."""
        return all(one.matches(labels) for one in self.requirements)
