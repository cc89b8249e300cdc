"""Drift between the drivers' Go types and the catalogue's schemas."""
