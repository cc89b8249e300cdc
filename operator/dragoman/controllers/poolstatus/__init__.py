"""Answers ResourcePoolStatusRequests (KEP-5677)."""
