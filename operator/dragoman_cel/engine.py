"""What changed with the version of cel-go and of the library in Kubernetes' own code.

A release evaluates all expressions with its own code, also those that may only use the functions of
the version before. Each behaviour that changed has a name. Source: cel-go 0.26 (Kubernetes 1.34 to
1.36), 0.29 (1.37), 0.33 (1.38).
"""

from dataclasses import dataclass

from dragoman_base.versions import Since, Version


@dataclass(frozen=True, slots=True)
class Engine:
    """How the code of one release evaluates and estimates."""

    version: Version  # Such as (1, 36)

    contents_measured = Since(38)
    """Sizes follow insertions into maps, optional elements, tests of fields; nothing is in `[]`."""
    arguments_first = Since(38)
    """A failed argument ends a call, which then costs nothing; before, the call is charged."""
    affixes_measured = Since(37)
    """`startsWith` and `endsWith` cost by the affix; before, by the text."""
    fields_quoted = Since(37)
    """Fields may be written in backquotes."""
    attributes_lazy = Since(38)
    """An attribute without usable value fails who reads it; before, every selector."""
    urls_measured = Since(38)
    """Parts of a URL are as long as it is at most."""
    includes_traversed = Since(37)
    """`includes` costs a traversal, and takes lists of any length."""
    matches_measured = Since(37)
    """`matches` as a function costs as it does as a method."""
    failures_qualify = Since(38)
    """A qualifier of an optional that fails is charged; before, it is not."""
    empty_iterated = Since(38)
    """Macros have no rounds over an empty text; before, one is an error."""
    names_suggested = Since(38)
    """Errors about undeclared names suggest near ones."""
    types_told_apart = Since(38)
    """`int` and `bool` as values are of two types, neither of which is more general."""
    optionals_kept = Since(37)
    """An optional is what it was behind variables and conditions; before, it is converted twice."""
    optionals_only = Since(37)
    """`or` and `orValue` of what is no optional fail; before, they return it."""
    selections_estimated = Since(38)
    """Selections and types are estimated whatever they are of."""
