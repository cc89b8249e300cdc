"""From a checked tree to closures that evaluate it and count its cost."""

from dragoman.cel.compile.closure import Compiled
from dragoman.cel.compile.compiler import compile_tree

__all__ = ["Compiled", "compile_tree"]
