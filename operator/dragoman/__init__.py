"""The operator: handlers, process, controllers, planners, and the allocator of kube-scheduler."""

__version__ = "0.1.0"
