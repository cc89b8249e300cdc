"""Objects that an answer is computed from: the fields that are kept, and the file."""
