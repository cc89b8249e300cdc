"""Installations that differ as much as they can: what holds for the chart must hold for each."""

from base64 import b64decode

from tests.charts.rendering import Values

CA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
"""Base64 of something that looks like a certificate."""
CERTIFICATE = b64decode(CA).decode()

MATRIX: dict[str, Values] = {
    "as it comes": {},
    "operator alone, the only claim controller": {
        "claims": {"mode": "own"},
        "webhook": {"enabled": False},
        "operator": {"replicas": 3},
    },
    "webhook alone": {"operator": {"enabled": False}, "rbac": {"aggregateView": False}},
    "claims left alone, all of the catalog": {
        "claims": {"mode": "off"},
        "catalog": {"enabled": True},
        "leaderElection": {"enabled": False},
    },
    "some of the catalog": {
        "catalog": {
            "enabled": True,
            "scope": "listed",
            "drivers": {
                "gpu.nvidia.com": {"mode": "Warn", "variables": {"MPSSupport": True}},
                "dra.net": None,
            },
        }
    },
    "certificates of cert-manager, own issuer": {"webhook": {"tls": {"mode": "cert-manager"}}},
    "certificates of cert-manager, an issuer of the cluster": {
        "webhook": {
            "tls": {
                "mode": "cert-manager",
                "certManager": {"issuerRef": {"name": "corporate", "kind": "ClusterIssuer"}},
            }
        }
    },
    "certificates in a Secret": {
        "webhook": {"tls": {"mode": "secret", "secret": {"name": "mine", "caBundle": CA}}}
    },
    "only API servers are served": {
        "webhook": {"tls": {"clientCA": CERTIFICATE}, "podAnnotations": {"example.com/pod": "yes"}}
    },
    "a URL": {"webhook": {"url": "https://dragoman.example.com:8443/validate"}},
    "everything watched": {
        "findings": {"enabled": True},
        "metrics": {"devices": True, "rules": True},
        "preemption": {"mode": "on", "select": "opted-in"},
        "monitoring": {
            "renderMode": "alwaysRender",
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "prometheusRule": {"enabled": True, "alertLabels": {"team": "platform"}},
            "dashboard": {"enabled": True, "annotations": {"grafana_folder": "DRA"}},
        },
    },
    "pods watched": {
        "monitoring": {
            "renderMode": "alwaysRender",
            "services": False,
            "podMonitor": {"enabled": True, "interval": "30s", "honorLabels": True},
        }
    },
    "fenced in": {
        "networkPolicy": {
            "enabled": True,
            "apiServerCIDRs": ["192.0.2.0/28"],
            "monitoring": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        },
        "flowControl": {"enabled": True},
    },
    "everything set": {
        "global": {"imageRegistry": "registry.example.com", "imagePullSecrets": ["shared"]},
        "commonLabels": {"team": "platform"},
        "commonAnnotations": {"example.com/owner": "platform"},
        "image": {"digest": f"sha256:{'0' * 64}", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "mine"}],
        "crds": {"keep": False, "annotations": {"example.com/crd": "yes"}},
        "operator": {
            "extraArgs": ["--workers=64"],
            "extraEnv": [{"name": "SSL_CERT_DIR", "value": "/certificates"}],
            "extraVolumes": [{"name": "certificates", "configMap": {"name": "certificates"}}],
            "extraVolumeMounts": [{"name": "certificates", "mountPath": "/certificates"}],
            "serviceAccount": {"annotations": {"example.com/identity": "dragoman"}},
            "podLabels": {"example.com/pod": "operator"},
            "podAnnotations": {"example.com/pod": "operator"},
            "podDisruptionBudget": {"enabled": True, "minAvailable": "50%"},
            "affinity": {"nodeAffinity": {}},
            "tolerations": [{"key": "control-plane", "operator": "Exists"}],
            "priorityClassName": "system-cluster-critical",
            "dnsPolicy": "ClusterFirst",
            "preStopSeconds": 1,
            "deploymentAnnotations": {"example.com/reloader": "yes"},
            "revisionHistoryLimit": 2,
            "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
            "hostAliases": [{"ip": "192.0.2.7", "hostnames": ["kubernetes.example.com"]}],
            "runtimeClassName": "gvisor",
        },
        "webhook": {
            "replicas": 3,
            "failurePolicy": "IgnoreOnInstallOnly",
            "excludedNamespaces": ["legacy"],
            "matchConditions": [
                {"name": "not-me", "expression": "request.userInfo.username != 'me'"}
            ],
            "configurationAnnotations": {"example.com/webhook": "yes"},
            "topologySpread": {"enabled": False},
            "service": {
                "annotations": {"example.com/service": "yes"},
                "ipFamilyPolicy": "SingleStack",
                "ipFamilies": ["IPv4"],
            },
        },
        "hooks": {
            "podLabels": {"sidecar.istio.io/inject": "false"},
            "podAnnotations": {"example.com/pod": "hook"},
        },
        "extraObjects": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}},
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .Release.Name }}-text'\n",
        ],
    },
}
