"""HTTP/1.1: the listener, its connections, requests and responses."""
