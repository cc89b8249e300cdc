"""What controllers know of devices: ResourceSlices and DeviceTaintRules, stored and observed."""
