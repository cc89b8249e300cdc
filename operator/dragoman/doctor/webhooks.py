"""Findings about admission: schemas that nothing enforces."""

from collections.abc import Iterator

from dragoman.doctor.devices import few
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.inventory.snapshots.documents import Document
from dragoman.model.fields import part, parts

_OWN = ".dragoman.dev"
"""How the names of dragoman's webhooks end."""
_DEFAULT_MODE = "Enforce"
_REPORTING = frozenset({"Audit", "Off"})
"""Modes in which nothing is answered at admission."""


def webhook_missing(facts: DoctorFacts) -> Iterator[Finding]:
    """DriverConfigSchemas are to be enforced, but the API server sends no reviews."""
    schemas = [
        one
        for one in facts.snapshot.of("driverconfigschemas")
        if (part(one, "spec").get("mode") or _DEFAULT_MODE) not in _REPORTING
    ]
    configurations = facts.snapshot.of("validatingwebhookconfigurations")
    if not schemas or any(_reviews_claims(one) for one in configurations):
        return
    metadata = part(schemas[0], "metadata")
    name, uid = str(metadata.get("name")), str(metadata.get("uid") or "")
    yield Finding(
        Id.WEBHOOK_MISSING,
        FindingSubject(
            name, "DriverConfigSchema", name, uid=uid, api_version="dragoman.dev/v1alpha1"
        ),
        f"no ValidatingWebhookConfiguration of dragoman reviews claims: "
        f"{few([str(part(one, 'metadata').get('name')) for one in schemas])} "
        "and their rules have no effect",
        "install the chart with webhook.enabled=true, or set mode: Audit",
    )


def _reviews_claims(configuration: Document) -> bool:
    return any(
        str(webhook.get("name") or "").endswith(_OWN)
        and "resourceclaims" in (rule.get("resources") or ())
        for webhook in parts(configuration, "webhooks")
        for rule in parts(webhook, "rules")
    )
