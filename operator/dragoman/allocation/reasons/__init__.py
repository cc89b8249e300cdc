"""Why claims cannot be served on a node, as data."""
