"""Compare what dragoman knows of Kubernetes with the newest release of the Go module proxy.

`make newest` runs it; docs/kubernetes-versions.md is its manual.
"""
