"""Reviews of manifest files: documents with line numbers, parsed strictly."""
