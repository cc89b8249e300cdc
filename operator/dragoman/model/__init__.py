"""Facts: the objects of the cluster, parsed once at the edge, holding only what decisions use."""
