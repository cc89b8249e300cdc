"""What a driver's account may write besides the slices of its own node, tried with dry runs."""
