"""`kubectl dra migrate`: its commands, and what they print."""
