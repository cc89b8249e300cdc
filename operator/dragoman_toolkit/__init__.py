"""What users type: `kubectl dra` and `dragoman check`."""
