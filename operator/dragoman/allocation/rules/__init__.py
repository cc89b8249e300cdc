"""The rules of single features: capacity, counters, groups, constraints, attributes."""
