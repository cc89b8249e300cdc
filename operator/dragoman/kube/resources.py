"""Served resources: group, version and plural, and their URL paths."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """A served resource: group, version and plural, as in its URL."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, an object or a subresource."""
        parts = ["/apis" if self.group else "/api", self.api_version]
        if namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes")
EVENTS = Resource("events.k8s.io", "v1", "events")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
CONFIGMAPS = Resource("", "v1", "configmaps")
SECRETS = Resource("", "v1", "secrets")
VALIDATING_WEBHOOK_CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"
)
NAMESPACES = Resource("", "v1", "namespaces")
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
CLUSTERTEMPLATES = Resource("dragoman.dev", "v1alpha1", "clusterresourceclaimtemplates")
DRIVERCONFIGSCHEMAS = Resource("dragoman.dev", "v1alpha1", "driverconfigschemas")
DEVICEMAINTENANCES = Resource("dragoman.dev", "v1alpha1", "devicemaintenances")
DEVICEPREEMPTIONS = Resource("dragoman.dev", "v1alpha1", "devicepreemptions")
DEVICEPOOLREPORTS = Resource("dragoman.dev", "v1alpha1", "devicepoolreports")
