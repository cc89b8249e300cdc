"""What a namespace lacks, has too much, or has in another form."""

from typing import Any

import pytest

from dragoman.claims.clustertemplates.copies import CopyState, MadeSpecs, copy_document, copy_state
from dragoman.model.clustertemplate import ClusterTemplate, Namespace
from dragoman.model.fields import MalformedObjectError
from dragoman.model.template import Template
from tests.unit.dragoman.claims.clustertemplates.builders import (
    SPEC,
    cluster_template,
    copy,
    metadata,
    namespace,
    own_template,
)

OTHER = {"spec": {"devices": {"requests": [{"name": "nic"}]}}}
FINALIZED: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("template", "place", "stored", "state"),
    [
        pytest.param(cluster_template(), namespace(), None, CopyState.MISSING, id="missing"),
        pytest.param(cluster_template(), namespace(), copy(), CopyState.CURRENT, id="current"),
        pytest.param(
            cluster_template(template=OTHER),
            namespace(),
            copy(),
            CopyState.OUTDATED,
            id="changed template",
        ),
        pytest.param(
            cluster_template(uid="restored"),
            namespace(),
            copy(),
            CopyState.OUTDATED,
            id="object restored from a backup",
        ),
        pytest.param(
            cluster_template(),
            namespace(),
            copy(annotations={}),
            CopyState.OUTDATED,
            id="hash removed",
        ),
        pytest.param(
            cluster_template(),
            namespace(),
            copy(spec=OTHER),
            CopyState.UNVERIFIED,
            id="forged: the owner and the hash of a copy, and another spec",
        ),
        pytest.param(
            cluster_template(), namespace("web"), None, CopyState.NOTHING, id="unselected"
        ),
        pytest.param(
            cluster_template(), namespace("web"), copy(), CopyState.UNWANTED, id="label removed"
        ),
        pytest.param(None, namespace(), copy(), CopyState.UNWANTED, id="object deleted"),
        pytest.param(
            cluster_template(**FINALIZED),
            namespace(),
            copy(),
            CopyState.UNWANTED,
            id="object under deletion",
        ),
        pytest.param(
            cluster_template(), namespace(), own_template(), CopyState.CONFLICT, id="own template"
        ),
        pytest.param(
            cluster_template("Replace"),
            namespace(),
            own_template(),
            CopyState.OUTDATED,
            id="own template to replace",
        ),
        pytest.param(None, namespace(), own_template(), CopyState.NOTHING, id="own template alone"),
        pytest.param(
            None,
            namespace(),
            copy(name="mine"),
            CopyState.NOTHING,
            id="own template, made from a copy of another name",
        ),
        pytest.param(
            cluster_template("Replace"),
            namespace("web"),
            own_template(),
            CopyState.NOTHING,
            id="own template in an unselected namespace",
        ),
        pytest.param(
            cluster_template(),
            namespace(),
            copy(**FINALIZED),
            CopyState.LEAVING,
            id="copy under deletion",
        ),
        pytest.param(
            cluster_template(),
            namespace(phase="Terminating"),
            None,
            CopyState.NOTHING,
            id="namespace under deletion",
        ),
        pytest.param(None, None, copy(), CopyState.NOTHING, id="namespace deleted"),
    ],
)
def test_the_state_of_a_copy(
    template: ClusterTemplate | None,
    place: Namespace | None,
    stored: Template | None,
    state: CopyState,
) -> None:
    assert copy_state(template, place, stored, {copy().content}) is state


def test_the_specs_that_the_api_server_makes_are_known_by_template_and_namespace() -> None:
    made, wanted = MadeSpecs(), cluster_template()
    assert made.of(wanted, "ml-1") == frozenset()
    made.learn(wanted, copy(namespace="ml-2"))
    made.learn(wanted, copy(spec=OTHER))
    assert made.of(wanted, "ml-2") == {copy().content}
    assert made.of(wanted, "ml-1") == {copy().content, copy(spec=OTHER).content}
    changed = cluster_template(template=OTHER)
    assert made.of(changed, "ml-1") == frozenset()
    made.learn(wanted, copy())
    assert made.of(wanted, "ml-1") == {copy().content}
    made.forget("gpu")
    assert made.of(wanted, "ml-1") == made.of(None, "ml-1") == frozenset()


def test_what_was_made_in_a_deleted_namespace_is_forgotten() -> None:
    made, wanted = MadeSpecs(), cluster_template()
    made.learn(wanted, copy(namespace="ml-2"))
    made.learn(wanted, copy(spec=OTHER))
    made.forget_namespace("ml-1")
    assert made.of(wanted, "ml-1") == made.of(wanted, "ml-2") == {copy().content}


def test_a_copy_has_the_spec_and_an_owner_but_no_labels_of_people() -> None:
    template = cluster_template(labels={"app": "x"})
    assert copy_document(template, "ml-1", "resource.k8s.io/v1") == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": "gpu",
            "namespace": "ml-1",
            "labels": {"dragoman.dev/cluster-template": "gpu"},
            "annotations": {"dragoman.dev/template-hash": template.digest},
            "ownerReferences": [
                {
                    "apiVersion": "dragoman.dev/v1alpha1",
                    "kind": "ClusterResourceClaimTemplate",
                    "name": "gpu",
                    "uid": "uid--gpu",
                    "controller": True,
                }
            ],
        },
        "spec": SPEC,
    }


def test_the_order_of_keys_does_not_change_the_hash() -> None:
    one = cluster_template(template={"spec": {"a": 1, "b": 2}})
    other = cluster_template(template={"spec": {"b": 2, "a": 1}})
    assert one.digest == other.digest != cluster_template().digest


def test_a_missing_selector_never_selects_everything() -> None:
    document = {"metadata": metadata("gpu"), "spec": {"template": SPEC}}
    with pytest.raises(MalformedObjectError, match=r"spec\.namespaceSelector: expected an object"):
        ClusterTemplate.parse(document)
