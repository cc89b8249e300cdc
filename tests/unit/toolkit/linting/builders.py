"""Short ways to write manifests for tables of cases."""

from textwrap import dedent, indent
from typing import Any

from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.findings.finding import CheckReport
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices, given
from dragoman_toolkit.linting.manifests.manifestobjects import objects


def claim(body: str = "deviceClassName: gpu.example.com", version: str = "v1", **more: str) -> str:
    """Write a ResourceClaim with one request whose `exactly` is given."""
    head = f"apiVersion: resource.k8s.io/{version}\nkind: ResourceClaim\n"
    name, namespace = more.get("name", "claim"), more.get("namespace", "ns")
    head += f"metadata: {{name: {name}, namespace: {namespace}}}\n"
    flat = indent(dedent(body).strip(), " " * 6)
    exact = indent(dedent(body).strip(), " " * 8)
    request = (
        f"    - name: gpu\n{flat}\n"
        if version == "v1beta1"
        else (f"    - name: gpu\n      exactly:\n{exact}\n")
    )
    rest = indent(dedent(more.get("devices", "")).strip("\n"), " " * 4)
    return f"{head}spec:\n  devices:\n    requests:\n{request}{rest}\n"


def selector(expression: str, class_name: str = "some-class") -> str:
    """Write a claim with one selector."""
    lines = indent(dedent(expression).strip(), "      ")
    return claim(f"deviceClassName: {class_name}\nselectors:\n- cel:\n    expression: |-\n{lines}")


def device_class(*expressions: str, name: str = "gpu.example.com", more: str = "") -> str:
    """Write a DeviceClass with selectors."""
    head = f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: {name}}}\nspec:\n"
    found = "".join(
        f"  - cel:\n      expression: |-\n{indent(dedent(one).strip(), ' ' * 8)}\n"
        for one in expressions
    )
    body = f"  selectors:\n{found}" if expressions else "  {}\n" if not more else ""
    return head + body + indent(dedent(more).strip("\n"), "  ") + "\n"


def pod(claims: str, *, uses: str = "[{name: gpu}]", kind: str = "Pod", more: str = "") -> str:
    """Write a pod, or what makes pods, with entries of `resourceClaims`."""
    spec = (
        f"resourceClaims: {claims}\n"
        f"containers:\n- name: main\n  image: pause\n  resources:\n    claims: {uses}\n"
    )
    spec += indent(dedent(more).strip("\n"), "    ") + "\n" if more else ""
    if kind == "Pod":
        head = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod, namespace: ns}\nspec:\n"
        return head + indent(spec, "  ")
    api, extra = kind.partition(" ")[0], kind.partition(" ")[2]
    group = "batch/v1" if api == "Job" else "apps/v1"
    head = f"apiVersion: {group}\nkind: {api}\nmetadata: {{name: many, namespace: ns}}\nspec:\n"
    head += f"  {extra}\n" if extra else ""
    return head + "  template:\n    spec:\n" + indent(spec, "      ")


def several(*texts: str) -> str:
    """Write several documents."""
    return "---\n".join(texts)


def check(
    text: str, *, kubernetes: tuple[int, int] = (1, 36), slices: str = "", **options: Any
) -> CheckReport:
    """Check a text without driver configs."""
    trees = [
        one.tree
        for document in engine.read("slices.yaml", slices).documents
        for one in objects("slices.yaml", document)
    ]
    devices = KnownDevices(tuple(given(trees)))
    source = engine.read("m.yaml", text)
    return engine.check(
        [source], api_of(kubernetes), devices, engine.CheckOptions(**options)
    ).report


def ids(text: str, **options: Any) -> list[str]:
    """Return the rules that find something in a text."""
    report = check(text, **options)
    assert report.failures == ()
    return [one.id for one in report.findings]
