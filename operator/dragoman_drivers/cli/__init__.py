"""The commands of authors of drivers: `conformance` and `pretend`."""
