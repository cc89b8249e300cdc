"""An HTTP/1.1 client for one server; docs/adr/0006 has its reasons and figures."""
