"""The value types of Kubernetes' CEL that Python lacks, and their algorithms.

bool, int, double, string, bytes, list and map are Python's own types. Everything here is immutable
and pure; failures raise `dragoman_cel.errors.OperationError` with the text of cel-go and
Kubernetes.
"""
