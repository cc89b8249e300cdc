"""HTTP/1.1 to one server, as cheaply as Python can: docs/adr/0006 says why, and what it saves."""
