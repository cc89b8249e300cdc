"""`dragoman check`: manifests from files and clusters, settings, and the formats of its output."""
