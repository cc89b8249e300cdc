"""What would let a pod run, as far as a second search confirms it."""
