"""DevicePoolReports: what pools have, for users who may not list claims."""
