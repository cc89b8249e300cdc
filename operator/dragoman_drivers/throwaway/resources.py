"""Where the API server serves which kind of object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

# One answer describes every resource of the server (aggregated discovery).
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Resource:
    """Where one kind of object is served."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The apiVersion that objects of this kind carry."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """Return the URL path of a collection, an object or its subresource."""
        root = "/apis" if self.group else "/api"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{quote(part)}" for part in (name, subresource) if part)
        return f"{root}/{self.api_version}{scope}/{self.plural}{tail}"


def resources(discovery: Mapping[str, Any]) -> Iterator[Resource]:
    """Read an APIGroupDiscoveryList, the preferred version of a group first."""
    for group in discovery["items"]:
        for version in group["versions"]:
            for entry in version.get("resources", ()):
                yield Resource(
                    group["metadata"].get("name", ""),
                    version["version"],
                    entry["resource"],
                    entry["responseKind"]["kind"],
                    entry["scope"] == "Namespaced",
                )


def names_of(resource: Resource) -> tuple[str, ...]:
    """Return what a resource may be called; the last one is exact."""
    dotted = f".{resource.group}" if resource.group else ""
    return (
        resource.plural,
        resource.kind,
        f"{resource.plural}{dotted}",
        f"{resource.kind}{dotted}",
        f"{resource.plural}.{resource.api_version}",
        f"{resource.kind}.{resource.api_version}",
    )
