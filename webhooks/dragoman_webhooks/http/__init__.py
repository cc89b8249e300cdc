"""The webhook's HTTP/1.1 server."""
