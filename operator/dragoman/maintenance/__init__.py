"""Devices out of service: which devices are meant, what holds them, and the next writes.

`targets` selects devices, `holds` reads DeviceTaintRules and held claims, `manifests` makes them,
`preview` counts what a drain would do, `plan` answers the next writes as `actions`, and `releasing`
which objects to delete. Nothing here talks to a cluster or reads a clock.
"""
