"""What users ask beyond the scheduler's answer: simulations, plans of files, suggestions; pure."""
