"""What the API server is told to ask, and by whom the answer is trusted."""

from typing import Any

import pytest

from tests.charts.matrix import CA, CERTIFICATE
from tests.charts.rendering import Json, Values, arguments, names, one, pods, render

CONFIGS, SCHEMAS = "configs.dragoman.dev", "schemas.dragoman.dev"


def test_asks_about_driver_configs_and_about_nothing_else() -> None:
    configs, schemas = webhooks({"clusterTemplates": {"enabled": True}}).values()
    assert configs["rules"] == [
        {
            "apiGroups": ["resource.k8s.io"],
            "apiVersions": ["v1", "v1beta2", "v1beta1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["resourceclaims", "resourceclaimtemplates", "deviceclasses"],
            "scope": "*",
        },
        {
            "apiGroups": ["dragoman.dev"],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["clusterresourceclaimtemplates"],
            "scope": "Cluster",
        },
    ]
    assert schemas["rules"] == [
        {
            "apiGroups": ["dragoman.dev"],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["driverconfigschemas"],
            "scope": "Cluster",
        }
    ]
    for webhook in (configs, schemas):
        assert webhook["sideEffects"] == "None"
        assert webhook["matchPolicy"] == "Equivalent"
        assert webhook["timeoutSeconds"] == 5


def test_namespaces_are_excluded_by_names_alone() -> None:
    webhook = webhooks({"webhook": {"excludedNamespaces": ["legacy", "kube-system"]}})[CONFIGS]
    assert webhook["namespaceSelector"] == {
        "matchExpressions": [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", "dragoman-system", "legacy"],
            }
        ]
    }
    assert "objectSelector" not in webhook


def test_conditions_of_admins_come_after_the_charts_own() -> None:
    mine = {"name": "not-me", "expression": "request.userInfo.username != 'me'"}
    conditions = webhooks({"webhook": {"matchConditions": [mine]}})[CONFIGS]["matchConditions"]
    assert [one["name"] for one in conditions] == ["has-configs", "says-something-new", "not-me"]


@pytest.mark.parametrize(
    ("policy", "flags", "expected"),
    [
        pytest.param("Fail", (), "Fail", id="Fail"),
        pytest.param("Ignore", (), "Ignore", id="Ignore"),
        pytest.param("IgnoreOnInstallOnly", (), "Ignore", id="IgnoreOnInstallOnly, installed"),
        pytest.param("IgnoreOnInstallOnly", ("--is-upgrade",), "Fail", id="and upgraded"),
    ],
)
def test_the_failure_policy_of_configs_is_a_choice_that_of_schemas_is_not(
    policy: str, flags: tuple[str, ...], expected: str
) -> None:
    found = webhooks({"webhook": {"failurePolicy": policy}}, *flags)
    assert found[CONFIGS]["failurePolicy"] == expected
    assert found[SCHEMAS]["failurePolicy"] == "Ignore"


CALLED: dict[str, tuple[Values, Json]] = {
    "through the Service": (
        {},
        {
            "service": {
                "name": "dragoman-webhook",
                "namespace": "dragoman-system",
                "path": "/validate",
                "port": 443,
            }
        },
    ),
    "by a URL": (
        {"webhook": {"url": "https://dragoman.example.com:8443/validate"}},
        {"url": "https://dragoman.example.com:8443/validate"},
    ),
    "with a bundle that an admin gave": (
        {
            "webhook": {
                "url": "https://dragoman.example.com/validate",
                "tls": {"mode": "secret", "secret": {"name": "mine", "caBundle": CA}},
            }
        },
        {"url": "https://dragoman.example.com/validate", "caBundle": CA},
    ),
}


@pytest.mark.parametrize(("values", "client"), CALLED.values(), ids=CALLED)
def test_is_called(values: Values, client: Json) -> None:
    assert [one["clientConfig"] for one in webhooks(values).values()] == [client, client]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://dragoman.example.com/validate", "dragoman.example.com"),
        ("https://dragoman.example.com:8443/validate", "dragoman.example.com"),
        ("https://192.0.2.1:8443/validate", "192.0.2.1"),
        ("https://[2001:db8::1]:8443/validate", "2001:db8::1"),
    ],
)
def test_certificates_are_for_the_host_of_the_url(url: str, host: str) -> None:
    assert f"--tls-host={host}" in arguments(render({"webhook": {"url": url}}), "webhook")


def test_own_certificates_live_in_a_secret_that_is_empty_at_first() -> None:
    documents = render()
    secret = one(documents, "Secret", "dragoman-webhook-tls")
    assert not secret.keys() & {"data", "stringData"}
    assert "--tls=self" in arguments(documents, "webhook")
    assert "--tls-secret=dragoman-webhook-tls" in arguments(documents, "webhook")


def test_cert_manager_makes_certificates_by_an_authority_of_the_release() -> None:
    documents = render({"webhook": {"tls": {"mode": "cert-manager"}}})
    certificate = one(documents, "Certificate", "dragoman-webhook-tls")["spec"]
    assert certificate["dnsNames"] == ["dragoman-webhook.dragoman-system.svc"]
    assert (certificate["duration"], certificate["renewBefore"]) == ("2160h", "720h")
    assert certificate["secretName"] == mounted_secret(documents)
    issuer = one(documents, "Issuer", certificate["issuerRef"]["name"])["spec"]
    authority = one(documents, "Certificate", "dragoman-webhook-ca")["spec"]
    assert issuer == {"ca": {"secretName": authority["secretName"]}}
    assert authority["isCA"]
    assert one(documents, "Issuer", authority["issuerRef"]["name"])["spec"] == {"selfSigned": {}}
    configuration = one(documents, "ValidatingWebhookConfiguration", "dragoman")
    assert configuration["metadata"]["annotations"] == {
        "cert-manager.io/inject-ca-from": "dragoman-system/dragoman-webhook-tls"
    }
    assert names(documents, "Secret") == []


@pytest.mark.parametrize(
    ("host", "address"), [("192.0.2.1", "192.0.2.1"), ("[2001:db8::1]", "2001:db8::1")]
)
def test_cert_manager_is_asked_for_an_address_where_the_url_has_one(
    host: str, address: str
) -> None:
    values = {"url": f"https://{host}:8443/validate", "tls": {"mode": "cert-manager"}}
    documents = render({"webhook": values})
    certificate = one(documents, "Certificate", "dragoman-webhook-tls")["spec"]
    assert certificate["ipAddresses"] == [address]
    assert "dnsNames" not in certificate


def test_cert_manager_takes_the_issuer_that_it_is_told() -> None:
    issuer = {"name": "corporate", "kind": "ClusterIssuer"}
    tls = {"mode": "cert-manager", "certManager": {"issuerRef": issuer}}
    documents = render({"webhook": {"tls": tls}})
    certificate = one(documents, "Certificate", "dragoman-webhook-tls")["spec"]
    assert certificate["issuerRef"] == {**issuer, "group": "cert-manager.io"}
    assert names(documents, "Issuer") == []


def test_a_secret_of_somebody_else_is_mounted_and_no_right_to_it_is_given() -> None:
    tls = {"mode": "secret", "secret": {"name": "mine", "caBundle": CA}}
    documents = render({"webhook": {"tls": tls}})
    assert mounted_secret(documents) == "mine"
    assert names(documents, "Role") == ["dragoman-leader"]


def mounted_secret(documents: list[Json]) -> str:
    """Return the Secret whose files the webhook is told to serve with."""
    deployment = one(documents, "Deployment", "dragoman-webhook")
    spec: Any = deployment["spec"]["template"]["spec"]
    (volume,) = [one for one in spec["volumes"] if one["name"] == "tls"]
    (mount,) = [one for one in spec["containers"][0]["volumeMounts"] if one["name"] == "tls"]
    assert f"--tls-certificate={mount['mountPath']}/tls.crt" in arguments(documents, "webhook")
    assert f"--tls-key={mount['mountPath']}/tls.key" in arguments(documents, "webhook")
    return str(volume["secret"]["secretName"])


def webhooks(values: Values, *flags: str) -> dict[str, Json]:
    configuration = one(render(values, *flags), "ValidatingWebhookConfiguration", "dragoman")
    return {webhook["name"]: webhook for webhook in configuration["webhooks"]}


def test_with_a_client_ca_only_the_probes_need_no_certificate() -> None:
    mine = {"extraVolumes": [{"name": "mine", "emptyDir": {}}]}
    documents = render({"webhook": {"tls": {"clientCA": CERTIFICATE}, **mine}})
    stored = one(documents, "ConfigMap", "dragoman-webhook-client-ca")
    assert stored["data"] == {"ca.crt": CERTIFICATE}
    [flag] = [flag for flag in arguments(documents, "webhook") if flag.startswith("--client-ca=")]
    [pod] = [pod for name, pod in pods(documents) if name == "dragoman-webhook"]
    [container] = pod["spec"]["containers"]
    [mount] = [one for one in container["volumeMounts"] if one["name"] == "client-ca"]
    assert flag == f"--client-ca={mount['mountPath']}/ca.crt"
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert volumes["client-ca"]["configMap"] == {"name": stored["metadata"]["name"]}
    assert "mine" in volumes
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}


def test_another_client_ca_restarts_the_webhook() -> None:
    def annotations(certificate: str) -> Json:
        documents = render({"webhook": {"tls": {"clientCA": certificate}}})
        template = one(documents, "Deployment", "dragoman-webhook")["spec"]["template"]
        found: Json = template["metadata"]["annotations"]
        return found

    assert annotations(CERTIFICATE) != annotations(CERTIFICATE * 2)
