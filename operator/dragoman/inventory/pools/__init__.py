"""Pools: their current generation, their faults, and what their counters have left."""
