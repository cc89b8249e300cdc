"""Answers of `explain` in random worlds of several drivers, beside an evaluator of its own."""
