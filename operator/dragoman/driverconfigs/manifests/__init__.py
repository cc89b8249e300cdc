"""Manifest files: documents with line numbers, parsed strictly and validated."""
