"""`kubectl dra explain` and `simulate`: why a pod has no devices, and what if."""
