"""Reviews of objects: from their config entries to a verdict, a status or an audit."""
