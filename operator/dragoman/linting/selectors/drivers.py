"""The drivers that selectors name."""

from dragoman.linting.knowledge.context import Context
from dragoman.linting.selectors.compilation import compiled
from dragoman.linting.selectors.implications import implications
from dragoman.linting.selectors.scopes import SelectorScope


def drivers_of(scope: SelectorScope, context: Context) -> frozenset[str]:
    """Return the drivers that the selectors of a scope require."""
    texts = (*scope.before, *(one for _, one in scope.own))
    trees = [tree for one in texts if (tree := compiled(one, context).tree) is not None]
    return implications(trees).driver
