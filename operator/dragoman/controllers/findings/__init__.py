"""Findings about devices, pools, claims and drivers, every few minutes: metrics and Events."""
