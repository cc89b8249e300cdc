"""The scheduler's search on one node, from devices by position to allocation results."""
