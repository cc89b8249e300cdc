"""Drift between the drivers' Go types and the catalog's schemas."""
