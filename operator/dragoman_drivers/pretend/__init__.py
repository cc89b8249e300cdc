"""A DRA driver without hardware: it publishes devices, prepares claims, and fails on request."""
