"""The process: which controllers run, and how they start, stop and say that they are alive."""
