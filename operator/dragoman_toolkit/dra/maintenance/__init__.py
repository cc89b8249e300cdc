"""`kubectl dra hold`, `drain` and `taint`, and how devices return: devices out of service."""
