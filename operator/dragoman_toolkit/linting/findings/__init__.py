"""Findings: what a rule reports, where, and the edits that correct it."""
