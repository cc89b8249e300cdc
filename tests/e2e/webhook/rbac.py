"""What the schema controller and the webhook may do beside the operator's own rules."""

from tests.e2e.rbac import DRA, OPERATOR_RULES, POOL_STATUS_RULES, rule

GROUP = "dragoman.dev"

SCHEMA_RULES = (
    *OPERATOR_RULES,
    *POOL_STATUS_RULES,
    rule(DRA, "deviceclasses", "list", "watch"),
    rule(GROUP, "driverconfigschemas", "get", "list", "watch", "create", "patch"),
    rule(GROUP, "driverconfigschemas/status", "patch"),
)

WEBHOOK_RULES = (
    rule(GROUP, "driverconfigschemas", "list", "watch"),
    {
        **rule(
            *("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
            *("get", "list", "watch", "patch"),
        ),
        "resourceNames": ["dragoman"],
    },
    {
        **rule("", "secrets", "get", "list", "watch", "update"),
        "resourceNames": ["dragoman-webhook-tls"],
    },
)
