"""Devices out of service: watches claims and pods, and carries out the plans of `maintenance`."""
