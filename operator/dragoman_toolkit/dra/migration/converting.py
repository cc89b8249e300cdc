"""`kubectl dra migrate convert`: manifests with claims in place of limits, every other letter kept.

Changes are edits of the text, as those of `dragoman check --fix`, and applied only where the result
says exactly what was meant. A document that does not allow it (an alias holds a container) is
written again, which standard error says.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import click
import yaml

from dragoman.allocation.extendedresources import requested
from dragoman.cli.terminal import plain, say
from dragoman.model.fields import MalformedObjectError, part, parts
from dragoman_toolkit import manifests
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.migration import answers
from dragoman_toolkit.dra.migration.answers import Question
from dragoman_toolkit.dra.missing import cannot_tell, unseen_of
from dragoman_toolkit.dra.output import Exit, Unusable
from dragoman_toolkit.linting.findings.edits import Append, Edit, Fields, applied
from dragoman_toolkit.linting.findings.finding import UnreadableFile
from dragoman_toolkit.linting.findings.fixes import edited
from dragoman_toolkit.linting.findings.inplace import NotInPlaceError
from dragoman_toolkit.linting.manifests.documents import ManifestDocument, UnreadableError, read
from dragoman_toolkit.migration import claims as claiming
from dragoman_toolkit.migration import counting
from dragoman_toolkit.migration.asks import queue
from dragoman_toolkit.migration.claims import LIMIT, PodClaim, Serving, shortened
from dragoman_toolkit.migration.losses import Code
from dragoman_toolkit.migration.report import Beside
from dragoman_toolkit.migration.serving import PRODUCT, Served
from dragoman_toolkit.stored import pod_spec
from dragoman_toolkit.unusable import UnusableInput
from dragoman_toolkit.workloads import PodSpec, Steps, Workload, workload

_HELM = re.compile(
    r"\{\{-?\s*(?:[.$]|include|template|if|range|with|define|end|toYaml)\b|\{\{-?\s*\."
)
_SEPARATOR = re.compile(r"(?m)^(?:---|\.\.\.)[^\n]*(?:\n|\Z)")
_READ = (*answers.READ, "resourcequotas")


@dataclass
class Conversion:
    """What converts the documents of all files."""

    served: Served  # How each resource is asked for
    namespace: str  # Of manifests without one
    taints: frozenset[str]  # Keys of taints that keep pods away from nodes with devices
    selectors: bool  # Whether labels of nodes become selectors of devices
    beside: Beside  # LimitRanges and Kueue
    said: list[str] = field(default_factory=list)  # For standard error
    failed: bool = False  # Whether something was left as it is
    _names: dict[tuple[str, str], Any] = field(default_factory=dict)  # Templates by namespace, name

    def file(self, name: str, text: str) -> str:
        """Return a file's text with claims; raise Unusable for what is no manifest."""
        if _HELM.search(text):
            raise Unusable(
                f"{name}: a template of Helm; render it first: helm template … | "
                "kubectl dra migrate convert -f -"
            )
        pieces = []
        at = 0
        try:
            documents = list(read(text))
        except UnreadableError as error:
            raise Unusable(f"{name}:{error.line}: {error}") from None
        for one in documents:
            if isinstance(one.tree, dict) and one.tree.get("kind") == "ResourceClaimTemplate":
                self._remember(one.tree)
        for one in documents:
            templates, changed = self._document(one)
            # Templates stand before the comments that belong to the object.
            gap = text[at : one.start]
            ends = [found.end() for found in _SEPARATOR.finditer(gap)]
            cut = ends[-1] if ends else 0
            pieces += [gap[:cut], templates, gap[cut:], changed]
            at = one.start + len(one.text)
        return "".join([*pieces, text[at:]])

    def _remember(self, tree: Mapping[str, Any]) -> None:
        metadata = part(tree, "metadata")
        key = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
        self._names[key] = tree.get("spec")

    def _document(self, document: ManifestDocument) -> tuple[str, str]:
        """Return the templates that a document needs, and its text."""
        edits: list[Edit] = []
        templates: list[Any] = []
        for root, tree in _objects(document.tree):
            found = workload(tree)
            for pods in found.pods if found else ():
                assert found is not None
                for edit, made in self._pods(found, pods, root):
                    edits += edit
                    templates += made
        if not edits:
            return "", document.text
        head = "".join(f"{_yaml(one)}---\n" for one in templates)
        return head, self._written(document, edits)

    def _written(self, document: ManifestDocument, edits: list[Edit]) -> str:
        try:
            return edited(document, edits)
        except NotInPlaceError as error:
            self.said.append(
                f"line {document.line + 1}: written again without its comments: {error}"
            )
            return _yaml(applied(document.tree, edits))

    def _pods(
        self, found: Workload, pods: PodSpec, root: Steps
    ) -> Iterator[tuple[list[Edit], list[Any]]]:
        """Yield the edits of a pod spec, and the templates that are new."""
        who = found.name or found.kind.lower()
        who += f"-{pods.role}" if pods.role else ""
        stored = {"metadata": {}, "spec": pod_spec(pods.plain())}
        try:
            asked = requested(stored)
            served = {name: one for name in asked if (one := self._serving(who, name))}
            wanted = claiming.claims(stored, served)
        except MalformedObjectError as error:
            self._leave(f"{who}: {error}")
            return
        counts = [one.count for claim in wanted for one in claim.parts]
        if sum(counts) > LIMIT or len(counts) > LIMIT:
            self._leave(
                f"{who}: TooManyDevices: {sum(counts)} devices in {len(counts)} requests; a claim "
                f"has at most {LIMIT} of both"
            )
            return
        if not wanted:
            return
        moved = self._moved(pods.spec, served) if self.selectors else {}
        label, value = PRODUCT, part(pods.spec, "nodeSelector").get(PRODUCT)
        if self.selectors and value and label not in moved:
            self.said.append(f"{who}: LabelGone: {label}={value} stays, as no GPU has this product")
        served = {
            name: Serving(one.class_name, (*one.expressions, *moved.values()), one.admin)
            if name.startswith("nvidia.com/")
            else one
            for name, one in served.items()
        }
        self._warn(found, who, pods.spec, served)
        made, names = self._templates(found, who, wanted, served)
        edits = [*self._of_containers(pods, root, wanted, served)]
        edits += self._of_pod(pods, root, wanted, names, moved)
        for claim in wanted:
            for asks in claim.parts:
                users = ", ".join(sorted(asks.users))
                self.said.append(
                    f"{who}: {asks.resource}: {asks.count} of container {users} -> request "
                    f"{asks.name} of {names[claim.suffix]}"
                )
        for key in self._untolerated(pods.spec, served):
            self.said.append(
                f"{who}: toleration of {key} added (nodes carry the taint; admission adds it for "
                "limits only)"
            )
        if found.kind == "Job" and found.group == "batch":
            self.said.append(f"{who}: pods of a Job are immutable: replace it, do not apply")
        yield edits, made

    def _serving(self, who: str, resource: str) -> Serving | None:
        found = self.served.of(resource)
        if isinstance(found, Serving):
            return found
        self._leave(f"{who}: {resource} stays: {found}")
        return None

    def _warn(
        self,
        found: Workload,
        who: str,
        spec: Mapping[str, Any],
        served: Mapping[str, Serving],
    ) -> None:
        """Say what LimitRanges and Kueue do to claims, or do not do."""
        namespace = found.namespace or self.namespace
        told: list[tuple[Code, str]] = []
        for name, one in served.items():
            told += counting.bounded(name, namespace, self.beside.companions)
            if queue(found) is not None:
                told += self.beside.queues.converted(one.class_name, spec)
        for code, text in dict.fromkeys(told):
            self.said.append(f"{who}: {code}: {text}")
            self.failed = self.failed or code is not Code.LIMIT_RANGE_IGNORED

    def _leave(self, text: str) -> None:
        self.said.append(text)
        self.failed = True

    def _templates(
        self, found: Workload, who: str, wanted: Iterable[PodClaim], served: Mapping[str, Serving]
    ) -> tuple[list[Any], dict[str, str]]:
        """Return templates that are new, and the name of the template of each claim."""
        made, names = [], {}
        for claim in wanted:
            base = shortened(f"{who}-{claim.suffix}")
            one = claiming.template(base, found.namespace, claim, served)
            spec = one["spec"]
            # Pods of one workload that want the same share a template.
            same = [
                name
                for (namespace, name), other in self._names.items()
                if namespace == found.namespace and other == spec and name.startswith(found.name)
            ]
            if same:
                names[claim.suffix] = same[0]
                continue
            name, number = base, 2
            while (found.namespace, name) in self._names:
                name, number = shortened(f"{base}-{number}"), number + 1
            one["metadata"]["name"] = names[claim.suffix] = name
            self._names[found.namespace, name] = spec
            made.append(one)
        return made, names

    def _of_containers(
        self,
        pods: PodSpec,
        root: Steps,
        wanted: Iterable[PodClaim],
        served: Mapping[str, Serving],
    ) -> Iterator[Edit]:
        for steps, container in pods.containers():
            resources = part(container, "resources")
            place: Steps = (*root, *steps, "resources")
            empty = []
            for kind in ("limits", "requests"):
                amounts = part(resources, kind)
                gone = tuple(name for name in amounts if name in served)
                if gone and len(gone) == len(amounts):
                    empty.append(kind)
                elif gone:
                    yield Fields((*place, kind), gone)
            name = str(container.get("name") or steps[-1])
            used = [found for claim in wanted if (found := claim.use(name))]
            listed = resources.get("claims")
            if isinstance(listed, list) and listed:
                yield from (Append((*place, "claims"), one) for one in used)
                used = []
            if empty or used:
                gone = (*empty, *(["claims"] if used and "claims" in resources else []))
                yield Fields(place, gone, (("claims", used),) if used else ())

    def _of_pod(
        self,
        pods: PodSpec,
        root: Steps,
        wanted: Iterable[PodClaim],
        names: Mapping[str, str],
        moved: Mapping[str, str],
    ) -> Iterator[Edit]:
        place: Steps = (*root, *pods.steps)
        added: dict[str, list[Any]] = {
            "tolerations": [
                {"key": key, "operator": "Exists", "effect": "NoSchedule"}
                for key in self._untolerated(
                    pods.spec, {p.resource for c in wanted for p in c.parts}
                )
            ],
            "resourceClaims": [
                {"name": one.suffix, "resourceClaimTemplateName": names[one.suffix]}
                for one in wanted
            ],
        }
        fields = []
        for name, entries in added.items():
            if isinstance(pods.spec.get(name), list) and pods.spec[name]:
                yield from (Append((*place, name), one) for one in entries)
            elif entries:
                fields.append((name, entries))
        gone = [name for name, _ in fields if name in pods.spec]
        if moved and len(moved) == len(part(pods.spec, "nodeSelector")):
            gone.append("nodeSelector")
        elif moved:
            yield Fields((*place, "nodeSelector"), tuple(moved))
        if fields or gone:
            yield Fields(place, tuple(gone), tuple(fields))

    def _untolerated(self, spec: Mapping[str, Any], resources: Iterable[str]) -> list[str]:
        """Return keys of taints of nodes that admission would have tolerated for limits."""
        # A toleration of one value may not be that of the taint; admission adds its own as well.
        tolerated = [
            one.get("key")
            for one in parts(spec, "tolerations")
            if one.get("operator") == "Exists" and one.get("effect") in ("NoSchedule", None, "")
        ]
        return [
            key
            for key in sorted(set(resources) & self.taints)
            if not any(one in (key, None, "") for one in tolerated)
        ]

    def _moved(self, spec: Mapping[str, Any], served: Iterable[str]) -> dict[str, str]:
        """Return selectors of devices by the labels of nodes that they stand for."""
        found = {}
        if any(name.startswith("nvidia.com/") for name in served):
            for label, value in part(spec, "nodeSelector").items():
                if expression := self.served.product(label, str(value)):
                    found[label] = expression
        return found


def _objects(tree: Any) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Yield the objects of a document, those of a List one by one, with their paths."""
    if not isinstance(tree, dict):
        return
    if str(tree.get("kind") or "").endswith("List") and isinstance(tree.get("items"), list):
        for index, one in enumerate(tree["items"]):
            if isinstance(one, dict):
                yield ("items", index), one
        return
    yield (), tree


def _yaml(tree: Any) -> str:
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=4096)


def convert(source: Source, question: Question, *, always: bool, selectors: bool) -> Exit:
    """Print what `kubectl dra migrate convert` answers; raise Unusable for bad input.

    Args:
        source: The cluster.
        question: The files.
        always: Whether claims are made although classes serve the limits.
        selectors: Whether labels of nodes become selectors of devices.
    """
    files = list(_texts(question.filenames))
    pods = replace(question, filenames=())
    read_ = answers.read_all(source, pods, _READ)
    if read_.gate.on and not always:
        say(
            "! classes serve limits here (DRAExtendedResource is on), so that these pods run as "
            "they are; --claims converts them all the same"
        )
        for _, text in files:
            click.echo(text, nl=False)
        return Exit.CLEAR
    taints = frozenset(
        str(taint.get("key"))
        for node in read_.sources.nodes
        for taint in parts(node, "spec", "taints")
        if taint.get("effect") == "NoSchedule"
    )
    served = Served(read_.sources, read_.taken)
    conversion = Conversion(served, source.namespace, taints, selectors, read_.beside)
    texts = [conversion.file(name, text) for name, text in files]
    for number, text in enumerate(texts):
        if number and not text.startswith("---"):
            click.echo("---")
        click.echo(text, nl=not text.endswith("\n") and number < len(texts) - 1)
    for line in conversion.said:
        say(plain(line))
    for name in conversion.served.made:
        shipped = any(
            one.endswith("_monitoring") and served.used[one] == name for one in served.used
        )
        how = "the chart of its driver has it" if shipped else "kubectl dra migrate classes"
        say(f"! class {name} has to be made: {how}")
    for line in _charges(read_, conversion):
        say(f"! {line}")
    if blind := cannot_tell(unseen_of(read_.world, ("deviceclasses", "resourceslices", "nodes"))):
        say(f"! {blind}")
        return Exit.UNKNOWN
    return Exit.OBSTACLE if conversion.failed else Exit.CLEAR


def _charges(found: answers.Read, conversion: Conversion) -> Iterator[str]:
    """Yield the quotas that do not charge claims."""
    for one in found.snapshot.of("resourcequotas"):
        hard = part(one, "spec", "hard")
        for resource, class_name in sorted(conversion.served.used.items()):
            known = found.world.classes.get(class_name)
            charged = found.gate.on and known and known.extended_resource == resource
            if f"requests.{resource}" in hard and not charged:
                where = part(one, "metadata")
                yield (
                    f"QuotaUncharged: ResourceQuota {where.get('namespace')}/{where.get('name')} "
                    f"limits requests.{resource}, and claims are not charged to it; limit "
                    f"{class_name}.deviceclass.resource.k8s.io/devices as well"
                )


def _texts(filenames: Iterable[str]) -> Iterator[tuple[str, str]]:
    try:
        for one in manifests.texts(filenames):
            if isinstance(one, UnreadableFile):
                raise Unusable(str(one))
            yield one
    except UnusableInput as error:
        raise Unusable(str(error)) from None
