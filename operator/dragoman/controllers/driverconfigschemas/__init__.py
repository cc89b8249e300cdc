"""The DriverConfigSchema controller: compiles schemas, writes their status, audits objects."""
