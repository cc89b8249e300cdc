"""How the objects of the cluster come in."""
