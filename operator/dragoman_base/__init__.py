"""What every package may use: versions of Kubernetes, numbers and lists in sentences, near misses."""
