"""The shape of the repository."""

import ast
import functools
import inspect
import re
import subprocess
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.support.onepackage.sitecustomize import ORDER, module

ROOT = Path(__file__).parent.parent
TOP_LEVEL = {
    *("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"),
    *("Makefile", "Dockerfile", "requirements.txt", "mkdocs.yml"),
    *("operator", "webhooks", "crds", "charts", "tests", "examples", "docs"),
}


@pytest.mark.parametrize("root", ["operator", "webhooks"])
def test_a_source_root_is_no_package(root: str) -> None:
    """`operator/__init__.py` would hide the standard library's `operator` from Python itself."""
    assert (ROOT / root).is_dir()
    assert not (ROOT / root / "__init__.py").exists()


def test_the_top_level_holds_nothing_unexpected() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing tells which files belong to it")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = {Path(path).parts[0] for path in listed}
    assert {name for name in found if not name.startswith(".")} <= TOP_LEVEL


@functools.cache
def imports_of_all() -> grimp.ImportGraph:
    """Return the imports of all packages."""
    return grimp.build_graph(*map(module, ORDER), cache_dir=None)


def test_the_packages_are_those_of_both_source_roots() -> None:
    found = [path.parent.name for root in ("operator", "webhooks") for path in packages(root)]
    assert sorted(found) == sorted(map(module, ORDER))


def packages(root: str) -> Iterator[Path]:
    """Yield the faces of the packages of a source root."""
    return (ROOT / root).glob("*/__init__.py")


BUDGETS = {
    "base": 1_270,
    "cel": 13_500,
    "configs": 4_500,
    "webhooks": 2_600,
    "dragoman": 43_980,
    "toolkit": 36_650,
    "drivers": 9_800,
}
"""Lines of each package. Raise one by a commit that does nothing else and says why."""


@pytest.mark.parametrize("package", ORDER)
def test_a_package_stays_within_its_budget_of_lines(package: str) -> None:
    (face,) = (
        one
        for root in ("operator", "webhooks")
        for one in packages(root)
        if one.parent.name == module(package)
    )
    lines = sum(len(path.read_text().splitlines()) for path in face.parent.rglob("*.py"))
    assert 0 < lines <= BUDGETS[package], "split it, or raise the budget by a commit of its own"


ENTRIES = ("handlers", "process", "controllers", "__main__")
SERVERS = ("operator", "webhook", "verify", "delete_webhooks")
"""The commands of processes, and those that the chart runs."""


def test_the_operator_holds_only_what_its_processes_reach() -> None:
    """What only users' commands need belongs to the toolkit."""
    graph = imports_of_all()
    entries = tuple(f"dragoman.{one}" for one in ENTRIES)
    servers = {f"dragoman.cli.{one}" for one in SERVERS}
    waiting = [
        one for one in graph.modules if one in servers or f"{one}.".startswith(dotted(entries))
    ]
    reached = set(waiting)
    while waiting:
        one = waiting.pop()
        parents = {one.rsplit(".", count)[0] for count in range(1, one.count(".") + 1)}
        found = graph.find_modules_directly_imported_by(one) | parents
        waiting += found - reached
        reached |= found
    assert {"dragoman.claims.creation", "dragoman.preemption.planner"} <= reached
    inside = {one for one in graph.modules if one.partition(".")[0] == "dragoman"}
    assert sorted(inside - reached) == []


def dotted(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of packages as beginnings of the names of what is in them."""
    return tuple(f"{name}." for name in names)


@pytest.mark.parametrize("package", ORDER)
def test_unit_tests_of_a_package_need_none_above_it(package: str) -> None:
    """`make unit PACKAGE=...` runs them so; here their imports are followed as text."""
    above = {module(one) for one in ORDER[ORDER.index(package) + 1 :]}
    waiting = list((ROOT / "tests/unit" / package).rglob("*.py"))
    waiting.append(ROOT / "tests/unit/conftest.py")
    assert len(waiting) > 2
    seen, wrong = set(waiting), []
    while waiting:
        path = waiting.pop()
        for name in imported(path):
            if name.partition(".")[0] in above:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
            place = ROOT / name.replace(".", "/")
            sources = {
                place.with_suffix(".py"),
                place / "__init__.py",
                place.parent / "__init__.py",
            }
            if name.startswith(("tests.", "docs.")):
                found = {one for one in sources - seen if one.exists()}
                waiting += found
                seen |= found
    assert wrong == []


IMPORT = re.compile(r"^ *(?:from ([\w.]+) )?import (\([^)]*\)|.*)", re.MULTILINE)


@functools.cache
def imported(path: Path) -> list[str]:
    """Return what a module imports, and what it imports from modules."""
    found = []
    for source, names in IMPORT.findall(path.read_text()):
        plain = [one.split()[0] for one in names.strip("()").split(",") if one.split()]
        found += [source, *(f"{source}.{one}" for one in plain)] if source else plain
    return found


def test_imports_are_read_as_python_reads_them() -> None:
    path = ROOT / "operator/dragoman/handlers.py"
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    plain = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    sources = {one.module for one in nodes if isinstance(one, ast.ImportFrom)}
    assert plain | sources <= {*imported(path)}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types alone count too."""
    graph = imports_of_all()
    imports = {one: graph.find_modules_directly_imported_by(one) for one in graph.modules}
    completion = imports["dragoman_toolkit.dra.cluster.completion"]
    assert "dragoman_toolkit.dra.cluster.source" in completion
    order = [*TopologicalSorter(imports).static_order()]  # raises CycleError, naming the circle
    assert order.index("dragoman.kube.client") < order.index("dragoman.handlers")


@pytest.mark.parametrize("folder", ["bench", "conformance", "demo", "docs", "e2e", "support", "ui"])
def test_unit_tests_are_no_library(folder: str) -> None:
    """What several kinds of test build on stands in `tests/support`."""
    sources = [(path, path.read_text()) for path in (ROOT / "tests" / folder).rglob("*.py")]
    assert sources
    assert [str(path) for path, text in sources if "from tests.unit" in text] == []


def test_imports_inside_functions_stay_few() -> None:
    """A command imports its work where it runs; elsewhere such an import hides what is needed."""
    sources = [path for root in ("operator", "webhooks") for path in (ROOT / root).rglob("*.py")]
    assert sources
    lines = [line for path in sources for line in path.read_text().splitlines()]
    inside = [line for line in lines if "PLC0415" in line]
    assert inside
    assert len([line for line in inside if "not for --help" not in line]) <= 38


TRIPLE_QUOTED = re.compile(r'(^ +r?)?"""(.*?)"""', re.MULTILINE | re.DOTALL)
"""A docstring begins a line; other texts are read over, so that none begins at their end."""
ENTRY = re.compile(r"    \*{0,2}\w[\w.`, ]*: [a-z]")


def entries(docstring: str) -> Iterator[str]:
    """Yield the entries of its sections, such as `Attributes:`."""
    within = False
    for line in docstring.splitlines():
        if line and not line.startswith(" "):
            within = line in {"Args:", "Attributes:", "Raises:", "Returns:", "Yields:"}
        elif within and not line.startswith("     "):
            yield line


def test_descriptions_of_attributes_and_parameters_start_with_a_capital_letter() -> None:
    found, lower = 0, []
    for path in (path for root in ("operator", "webhooks") for path in (ROOT / root).rglob("*.py")):
        for begins, text in TRIPLE_QUOTED.findall(path.read_text()):
            for entry in entries(inspect.cleandoc(text)) if begins else ():
                found += 1
                lower += [f"{path}: {entry}"] if ENTRY.match(entry) else []
    assert found > 1000
    assert lower == []


def names_of(statement: ast.stmt) -> set[str]:
    """Return what a statement of a module defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {name.asname or name.name for name in statement.names}
    targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
    return {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}


def annotations(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the annotations that importing a module would evaluate."""
    for one in body:
        if isinstance(one, ast.AnnAssign):
            yield one.annotation
        elif isinstance(one, ast.ClassDef):
            yield from annotations(one.body)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            found = (node for node in ast.walk(one.args) if isinstance(node, ast.arg))
            yield from (node.annotation for node in found if node.annotation)
            yield from [one.returns] if one.returns else []


def refers_forward(tree: ast.Module) -> bool:
    """Whether an annotation names what a module defines later, or for types alone."""
    defined: dict[str, float] = {}
    for one in tree.body:
        if isinstance(one, ast.If) and ast.unparse(one.test).endswith("TYPE_CHECKING"):
            defined |= dict.fromkeys(set().union(*map(names_of, one.body)), float("inf"))
        elif not isinstance(one, ast.Import | ast.ImportFrom):
            defined = dict.fromkeys(names_of(one), one.end_lineno or 0) | defined
    named = (node for root in annotations(tree.body) for node in ast.walk(root))
    return any(isinstance(one, ast.Name) and defined.get(one.id, 0) > one.lineno for one in named)


def has_inner_functions(tree: ast.Module) -> bool:
    """Whether functions make functions: without the import each call evaluates annotations."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return any(one in functions for outer in functions for one in outer.body)


def test_annotations_are_strings_only_where_that_is_needed() -> None:
    imports, idle = 0, []
    for root in ("operator", "webhooks", "tests", "docs"):
        for path in (ROOT / root).rglob("*.py"):
            text = path.read_text()
            if "\nfrom __future__ import annotations\n" in text:
                imports += 1
                tree = ast.parse(text)
                if not refers_forward(tree) and not has_inner_functions(tree):
                    idle.append(str(path))
    assert imports
    assert idle == []


OF_SURROUNDINGS = re.compile(
    r"\b(?:time\.(?:monotonic|time|perf_counter|thread_time|sleep)|random\.\w|uuid[14]\(|urandom"
    r"|datetime\.(?:now|utcnow|today)|date\.today|gethostname|to_thread|run_in_executor"
    r"|Thread\(|ThreadPoolExecutor|ProcessPoolExecutor)"
)


@pytest.mark.parametrize("package", ["kube", "cluster", "controllers", "process"])
def test_processes_take_time_chance_and_threads_from_their_surroundings(package: str) -> None:
    """Otherwise they cannot run in virtual time; see docs/adr/0022."""
    sources = sorted((ROOT / "operator" / "dragoman" / package).rglob("*.py"))
    assert sources
    found = [
        f"{path.relative_to(ROOT)}: {one[0]}"
        for path in sources
        for one in OF_SURROUNDINGS.finditer(path.read_text())
    ]
    assert found == []
    surroundings = (ROOT / "operator" / "dragoman" / "surroundings.py").read_text()
    assert OF_SURROUNDINGS.search(surroundings)
