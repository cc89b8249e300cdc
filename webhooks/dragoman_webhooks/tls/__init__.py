"""The webhook's certificates: files, the private CA, and rotation."""
