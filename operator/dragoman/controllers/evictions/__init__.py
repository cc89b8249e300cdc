"""The eviction controller: pods leave devices with NoExecute taints (KEP-5055)."""
