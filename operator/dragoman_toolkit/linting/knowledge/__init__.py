"""What rules know beside the object they look at: the served API, drivers, and devices."""
