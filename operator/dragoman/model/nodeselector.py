"""Node selectors (API: core/v1 NodeSelector)."""

from typing import NamedTuple

from dragoman.model.fields import Document, items, mapping, optional_text, texts


class Requirement(NamedTuple):
    """One requirement of a node selector term."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(NamedTuple):
    """Requirements that a node meets all at once."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class NodeSelector(NamedTuple):
    """Terms of which a node meets at least one."""

    terms: tuple[NodeSelectorTerm, ...] = ()


def node_selector(document: Document, key: str, within: str) -> NodeSelector | None:
    """Read a node selector, None where it is absent."""
    if document.get(key) is None:
        return None
    selector = mapping(document, key, within)
    within = f"{within}{key}."
    return NodeSelector(
        tuple(
            NodeSelectorTerm(
                _requirements(term, "matchExpressions", f"{within}nodeSelectorTerms[{index}]."),
                _requirements(term, "matchFields", f"{within}nodeSelectorTerms[{index}]."),
            )
            for index, term in enumerate(items(selector, "nodeSelectorTerms", within))
        )
    )


def _requirements(term: Document, key: str, within: str) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            optional_text(item, "key", f"{within}{key}[{index}].") or "",
            optional_text(item, "operator", f"{within}{key}[{index}].") or "",
            texts(item, "values", f"{within}{key}[{index}]."),
        )
        for index, item in enumerate(items(term, key, within))
    )
