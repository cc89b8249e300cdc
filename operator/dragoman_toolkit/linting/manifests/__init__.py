"""Texts of manifests: YAML and JSON, documents, and the objects in them."""
