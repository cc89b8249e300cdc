"""Facts of an inventory, parsed once from API objects."""
