"""The informer of ResourceClaimTemplates, where the claim controller has none to share."""

from dragoman.kube.client import Client
from dragoman.kube.discovery import Served
from dragoman.kube.informer import Informer
from dragoman.kube.store import DeletedUIDs, Store
from dragoman.model import Template


def templates_informer(client: Client, served: Served) -> Informer[Template]:
    """Return an informer of ResourceClaimTemplates, for an operator that leaves claims alone."""
    store: Store[Template] = Store(DeletedUIDs())

    def deleted(template: Template) -> None:
        metadata = template.metadata
        store.drop(metadata.namespace, metadata.name, metadata.uid)

    def changed(template: Template) -> None:
        store.put(template)

    return Informer(
        client,
        served.templates,
        store,
        Template.parse,
        changed,
        deleted,
        rolled_back=store.roll_back,
    )
