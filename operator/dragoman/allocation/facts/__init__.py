"""What the allocator decides on, parsed and frozen."""
