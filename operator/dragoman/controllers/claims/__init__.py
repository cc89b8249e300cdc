"""The claim controller: creates, reserves and releases ResourceClaims."""
