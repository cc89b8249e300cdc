"""`dragoman conformance`: a pretended kubelet and scheduler that check a DRA driver.

The operator imports nothing from here.
"""
