"""The values of Kubernetes' CEL that Python has no exact equal of, and the algorithms over them.

bool, int, double, string, bytes, list and map are Python's own types. Everything here is immutable
and pure; whatever fails raises `dragoman.cel.errors.EvaluationError` with the text that cel-go and
Kubernetes give.
"""
