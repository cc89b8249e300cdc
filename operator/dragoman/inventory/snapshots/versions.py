"""Objects of older versions of resource.k8s.io in the shape of v1."""

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.model.fields import Document


def upgraded(plural: str, document: Document) -> Document:
    """Return an object in the shape of v1; one of another resource as it is."""
    found = UPGRADES.get(plural)
    return document if found is None else found(document)


def _slice(document: Document) -> Document:
    """Remove the field `basic` that wraps each device of v1beta1."""
    spec = document.get("spec")
    devices = spec.get("devices") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(devices, list):
        return document
    flat = [_device(device) for device in devices]
    return {**document, "spec": {**spec, "devices": flat}}


def _device(device: Any) -> Any:
    basic = device.get("basic") if isinstance(device, Mapping) else None
    if not isinstance(basic, Mapping):
        return device
    return {"name": device.get("name"), **basic}


def _claim(document: Document) -> Document:
    spec = document.get("spec")
    return {**document, "spec": _claim_spec(spec)} if isinstance(spec, Mapping) else document


def _template(document: Document) -> Document:
    spec = document.get("spec")
    return {**document, "spec": _claim(spec)} if isinstance(spec, Mapping) else document


def _claim_spec(spec: Document) -> Document:
    """Put what v1beta1 has in a request itself into `exactly`."""
    devices = spec.get("devices")
    requests = devices.get("requests") if isinstance(devices, Mapping) else None
    if not isinstance(devices, Mapping) or not isinstance(requests, list):
        return spec
    return {**spec, "devices": {**devices, "requests": [*map(_request, requests)]}}


def _request(request: Any) -> Any:
    if not isinstance(request, Mapping) or "deviceClassName" not in request:
        return request
    own = {key: value for key, value in request.items() if key not in ("name", "firstAvailable")}
    return {"name": request.get("name"), "exactly": own}


UPGRADES: Mapping[str, Callable[[Document], Document]] = {
    "resourceslices": _slice,
    "resourceclaims": _claim,
    "resourceclaimtemplates": _template,
}
