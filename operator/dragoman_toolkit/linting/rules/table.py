"""The rules with their stable ids and ordinary severities."""

from dataclasses import dataclass

from dragoman_toolkit.linting.findings.finding import ERROR, WARNING

PAGE = "https://dragoman.dev/check"


@dataclass(frozen=True, slots=True)
class LintRule:
    """One rule."""

    id: str  # Stable
    severity: str  # Unless a finding or the user says otherwise
    summary: str  # What it finds
    severities: str = ""  # For people, where a finding may have another one

    @property
    def url(self) -> str:
        """Where the rule is described, with a bad and a good manifest."""
        return f"{PAGE}#{self.id.replace('/', '')}"


RULES = {
    rule.id: rule
    for rule in (
        LintRule(
            "dra/api-removed", ERROR, "Kinds, versions and fields that no server serves any more"
        ),
        LintRule(
            "dra/api-old",
            WARNING,
            "Versions older than the newest one that is served",
            "error or warning",
        ),
        LintRule(
            "dra/off-by-default",
            WARNING,
            "Fields and versions that a server has only where an administrator turned them on",
            "warning or error",
        ),
        LintRule(
            "dra/unknown-kind", ERROR, "Kinds and groups that no API server has", "error or warning"
        ),
        LintRule("dra/unknown-field", ERROR, "Fields that the API does not have"),
        LintRule("dra/served-since", WARNING, "Fields that only some versions of Kubernetes serve"),
        LintRule("dra/invalid", ERROR, "Values that the API server rejects"),
        LintRule("dra/cel-invalid", ERROR, "Selectors that the API server rejects"),
        LintRule("dra/cel-unguarded", WARNING, "Reads that fail on devices without the attribute"),
        LintRule(
            "dra/attribute-unknown", WARNING, "Attributes, capacities and domains no driver has"
        ),
        LintRule(
            "dra/attribute-is-capacity", ERROR, "Attributes read as capacities, and the reverse"
        ),
        LintRule(
            "dra/attribute-type", ERROR, "Comparisons of attributes with values of another type"
        ),
        LintRule(
            "dra/never-matches", WARNING, "Selectors and constraints that no device satisfies"
        ),
        LintRule(
            "dra/reference-missing",
            ERROR,
            "Names of claims, requests and classes that no object has",
        ),
        LintRule(
            "dra/too-many-devices", ERROR, "Claims for more devices than one allocation holds"
        ),
        LintRule("dra/claim-unused", WARNING, "Claims of a pod that none of its containers uses"),
        LintRule("dra/node-name", WARNING, "Pods with claims that pass the scheduler by"),
        LintRule(
            "dra/no-grace", WARNING, "Pods whose devices are freed while their containers run"
        ),
        LintRule(
            "dra/config-unused", WARNING, "Configs for a driver that serves none of the requests"
        ),
        LintRule("dra/no-effect", WARNING, "Fields of devices and requests that nothing heeds"),
        LintRule(
            "dra/toleration", WARNING, "Tolerations without effect, or that evict immediately"
        ),
        LintRule(
            "dra/shared-claim", WARNING, "One claim for the devices of more pods than can share it"
        ),
        LintRule(
            "dra/extended-resource", WARNING, "Limits that name a class, or that no class serves"
        ),
        LintRule(
            "dra/double-request", WARNING, "An extended resource and a claim for the same devices"
        ),
        LintRule(
            "dra/taint-rule",
            WARNING,
            "DeviceTaintRules that reach further than they seem to",
            "error or warning",
        ),
        LintRule(
            "dra/admin-access", WARNING, "Admin access in a namespace without the label for it"
        ),
        LintRule(
            "dra/driver-config",
            ERROR,
            "Driver configs that the driver rejects",
            "as the schema says",
        ),
        LintRule(
            "dra/ignore", WARNING, "Ignore comments and annotations without a reason or a rule"
        ),
    )
}
