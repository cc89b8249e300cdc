"""A throwaway control plane: etcd and kube-apiserver on loopback, and a client that blocks."""
