"""DriverConfigSchemas compiled: schemas and CEL rules within bounds of cost, and their registry."""
