"""The controller of ClusterResourceClaimTemplates."""
