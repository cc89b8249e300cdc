"""A small client-go: client, reflectors, stores, work queues, leader election, Events.

It knows Kubernetes, and neither claims nor driver configs.
"""
