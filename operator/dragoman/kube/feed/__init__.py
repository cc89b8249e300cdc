"""Watches through kopf."""
