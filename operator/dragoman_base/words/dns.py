"""Names of DNS, as the API server accepts them for names of objects, drivers and pools."""

import re

LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A label of RFC 1123, in the form that the API server's messages quote."""
SUBDOMAIN_PATTERN = rf"{LABEL_PATTERN}(\.{LABEL_PATTERN})*"

# The same languages as the patterns above, in forms without long backtracking.
_LABEL = "[a-z0-9]+(?:-+[a-z0-9]+)*"
LABEL = re.compile(_LABEL, re.ASCII)
SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
