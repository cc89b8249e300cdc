"""Pools of devices as a node sees them, and what claims hold of them."""
