"""Which pods would have to move so that a pod gets its devices; pure."""
