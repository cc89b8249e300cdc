"""The webhook in a process of the operator: its server, its certificates, what reviews count."""
