"""What the claims of a pod request, made ready before a node is looked at."""
