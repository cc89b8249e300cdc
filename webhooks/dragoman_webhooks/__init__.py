"""The admission webhook: driver configs and DriverConfigSchemas, checked at `kubectl apply`."""
