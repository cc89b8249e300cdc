"""DriverConfigSchemas and config entries: API objects as facts."""
