"""The kubelet's plugin interfaces: what a DRA driver serves on its sockets, and how it is called.

`pluginregistration.v1`, `dra.v1` and `dra.v1beta1` (equal on the wire), `dra-health.v1alpha1`. The
messages are read and written here, so that the kubelet's side can send malformed ones too.
"""
