"""Read API objects into facts."""
