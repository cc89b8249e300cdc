"""What every package may use: Kubernetes versions, numbers and lists in sentences, near misses."""
