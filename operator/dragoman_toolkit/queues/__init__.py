"""Queues that admit pods, and the devices that these pods hold.

Queue managers charge other numbers than pods hold: by version, by feature gate and by the form of
a claim. `usage` computes the difference from the managers' own objects; nothing is estimated.
"""
