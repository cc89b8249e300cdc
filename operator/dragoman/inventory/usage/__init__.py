"""What users have, by class, node, namespace and pod; and which pods wait."""
