"""Everything dragoman reacts to. A handler passes events to an informer; none decides or writes.

`kopf run -A --standalone -m dragoman.handlers` feeds the handlers from kopf's watches, for
development and KopfRunner. `dragoman operator` feeds the same functions from reflectors, which
take a tenth of the CPU and report what was deleted during an outage (ADR 4, ADR 7).
"""

from typing import Any

import kopf

from dragoman.cluster.cluster import pod_concerns_claims
from dragoman.kube.kopfsession import kopf_session
from dragoman.process.operator import Operator
from dragoman.settings import Settings


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: Any, **_: Any) -> None:
    """Start the controllers; raise kopf.PermanentError where they cannot start."""
    # kopf only watches: it posts no Events, sets no finalizer and looks for no other operators.
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.persistence.finalizer = "dragoman.dev/never-set"
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    operator = memo.get("operator") or Operator(Settings.from_environment())
    memo.operator = operator
    try:
        await operator.start(memo)
    except Exception as error:
        # kopf would retry any other error every minute; a process that ends is restarted.
        raise kopf.PermanentError(operator.fault or str(error)) from error


@kopf.on.login()
async def login(memo: Any, **_: Any) -> kopf.AiohttpSession:
    """Log kopf in with the operator's credentials."""
    return kopf_session(memo.operator.client.credentials)


@kopf.on.cleanup()
async def stop(memo: Any, **_: Any) -> None:
    """Finish requests in flight, and stop."""
    await memo.operator.stop()


@kopf.on.event("", "v1", "pods", when=pod_concerns_claims)
async def pod_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Create the claims of a pod, reserve them for it, and release them after it."""
    memo.operator.informers.handle("", "pods", event)


@kopf.on.event("resource.k8s.io", "resourceclaims")
async def claim_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Release the devices of a claim, delete it, and wake the pods that use it."""
    memo.operator.informers.handle("resource.k8s.io", "resourceclaims", event)


@kopf.on.event("resource.k8s.io", "resourceclaimtemplates")
async def template_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Create the claims that wait for a template, and keep copies as they are wanted."""
    memo.operator.informers.handle("resource.k8s.io", "resourceclaimtemplates", event)


@kopf.on.event("dragoman.dev", "v1alpha1", "clusterresourceclaimtemplates")
async def clustertemplate_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Copy a template into the namespaces that it selects."""
    memo.operator.informers.handle("dragoman.dev", "clusterresourceclaimtemplates", event)


@kopf.on.event("", "v1", "namespaces")
async def namespace_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Copy templates into a namespace that their selectors match."""
    memo.operator.informers.handle("", "namespaces", event)


@kopf.on.event("scheduling.k8s.io", "v1beta1", "podgroups")
@kopf.on.event("scheduling.k8s.io", "v1alpha2", "podgroups")
async def podgroup_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Create the claims of a PodGroup (KEP-5729), and release them after it."""
    memo.operator.informers.handle("scheduling.k8s.io", "podgroups", event)


@kopf.on.event("resource.k8s.io", "resourceslices")
async def slice_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Evaluate evictions, pools and waiting pods when devices or their taints change."""
    memo.operator.informers.handle("resource.k8s.io", "resourceslices", event)


@kopf.on.event("resource.k8s.io", "devicetaintrules")
async def taintrule_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Evict the pods that a DeviceTaintRule concerns, and write its condition."""
    memo.operator.informers.handle("resource.k8s.io", "devicetaintrules", event)


@kopf.on.event("resource.k8s.io", "resourcepoolstatusrequests")
async def poolstatusrequest_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Answer a request for the status of pools."""
    memo.operator.informers.handle("resource.k8s.io", "resourcepoolstatusrequests", event)


@kopf.on.event("dragoman.dev", "v1alpha1", "driverconfigschemas")
async def driverconfigschema_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Compile a schema, write its status and audit stored objects."""
    memo.operator.informers.handle("dragoman.dev", "driverconfigschemas", event)


@kopf.on.event("dragoman.dev", "v1alpha1", "devicemaintenances")
async def devicemaintenance_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Take devices out of service, evict their pods, and put the devices back."""
    memo.operator.informers.handle("dragoman.dev", "devicemaintenances", event)


@kopf.on.event("resource.k8s.io", "deviceclasses")
async def class_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Explain waiting pods by the DeviceClasses that there are."""
    memo.operator.informers.handle("resource.k8s.io", "deviceclasses", event)


@kopf.on.event("", "v1", "nodes")
async def node_event(event: kopf.RawEvent, memo: Any, **_: Any) -> None:
    """Explain waiting pods by the nodes that there are."""
    memo.operator.informers.handle("", "nodes", event)
