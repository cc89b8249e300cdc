"""The cluster as the controllers of a process know it: each resource watched and stored once."""
