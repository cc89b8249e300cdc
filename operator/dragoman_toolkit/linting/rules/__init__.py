"""The rules, their table with stable ids, and the comments that ignore them."""
