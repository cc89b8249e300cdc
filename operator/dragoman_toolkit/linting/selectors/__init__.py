"""CEL selectors of manifests: compiled, read for what they say, and evaluated."""
