"""Controllers: they read stores, ask the pure planners and write to the API server."""
