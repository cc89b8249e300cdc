"""Where a command's objects come from: options, a connection or a snapshot; rights, completion."""
