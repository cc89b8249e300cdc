"""Planes whose pods have accounts and tokens, as on a cluster."""

import pytest

from tests.support import manifests as objects
from tests.support.controlplane.plane import ControlPlane


def test_with_service_accounts_a_pod_is_given_its_namespace_s_account_and_a_token() -> None:
    with ControlPlane(service_accounts=True, audit=False) as plane:
        for namespace in ("default", plane.create_namespace()):
            pod = plane.api().create(objects.pod("user", namespace))
            assert pod["spec"]["serviceAccountName"] == "default"
            (volume,) = pod["spec"]["volumes"]
            token, authority, _ = volume["projected"]["sources"]
            assert "serviceAccountToken" in token
            published = plane.api().get("configmaps", authority["configMap"]["name"], namespace)
            trusted = plane.credentials.authority.certificate.read_text()
            assert published["data"]["ca.crt"] == trusted
        with pytest.raises(RuntimeError, match="audit=False"):
            plane.audit.mark()
