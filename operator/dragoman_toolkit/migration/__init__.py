"""From device plug-ins to DRA: what is lost, and the classes that serve the same resources.

Since KEP-5004 a DeviceClass with `extendedResourceName` serves `limits: {nvidia.com/gpu: 1}`
without a change of the pod. `counterparts` knows which devices stand for a resource of a plug-in,
`sources` finds where each node gets a resource from, `asks` what workloads ask for, `losses` what
ends with the plug-in, `report` puts the answer together, and `classes` makes the DeviceClasses.
`plan` orders the nodes: `progress` says how far each has come, `steps` makes its steps, `capacity`
counts pods that wait for their node. `claims` makes the claims of a pod instead, and `serving`
finds their classes. Pure.
"""
