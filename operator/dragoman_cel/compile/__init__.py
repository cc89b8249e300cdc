"""From a checked tree to closures that evaluate it and count its cost."""

from dragoman_cel.compile.closure import Compiled
from dragoman_cel.compile.compiler import compile_tree

__all__ = ["Compiled", "compile_tree"]
