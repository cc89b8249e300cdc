"""Repairs of what `kubectl dra doctor` finds, and permissions that drivers need; pure."""
