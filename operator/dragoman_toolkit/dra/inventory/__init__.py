"""`kubectl dra top` and `who`: who has what."""
