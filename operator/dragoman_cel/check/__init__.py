"""The type checker, and the declarations of functions that it knows."""
