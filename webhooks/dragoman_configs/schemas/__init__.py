"""Structural schemas: what a CustomResourceDefinition may hold, and values validated by them."""
