"""Device preemption in the operator: plans for pods that wait, reported and nothing else."""
