"""`kubectl dra doctor`, `release` and `adopt`: what is wrong, and its repair."""
