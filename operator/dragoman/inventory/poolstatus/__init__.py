"""Counts of a pool: answers to ResourcePoolStatusRequests, and DevicePoolReports."""
