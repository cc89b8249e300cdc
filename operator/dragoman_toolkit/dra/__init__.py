"""Users' commands: `kubectl dra top`, `who`, `explain` and others, on any cluster from 1.34.

Each command reads objects (`cluster.source`), computes with pure packages, and shows a `Report`
(`output`). Folders have the names of the packages that compute.
"""
