"""Effects: everything that talks to the API server, the clock or the operating system."""
