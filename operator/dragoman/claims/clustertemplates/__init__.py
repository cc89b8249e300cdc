"""ClusterResourceClaimTemplates: which namespaces lack a copy, and what the status says of it."""
