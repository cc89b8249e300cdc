"""From text to syntax tree: tokens, cel-python's grammar, literals, macro expansion."""
