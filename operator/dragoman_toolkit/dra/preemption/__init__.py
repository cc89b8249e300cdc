"""Commands that plan who would have to end or move so that a pod gets its devices."""
