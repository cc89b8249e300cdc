"""From text to syntax tree: tokens, the grammar and its table, literals, nesting."""
