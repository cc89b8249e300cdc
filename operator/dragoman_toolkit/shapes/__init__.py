"""Recorded machines: what the nodes of a machine type publish, for nodes that do not exist yet.

A shape has values only, from public dumps of ResourceSlices; each pool names its source. What
differs from machine to machine is `notRecorded`: it is unknown, and not absent.
"""
