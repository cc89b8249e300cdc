"""Where credentials come from: kubeconfig files, exec plugins and impersonation, as in kubectl."""
