"""Compare the sources that the product follows: which of their functions changed.

A function that changed is not yet a behaviour that changed. What the other stages run shows that
for allocator and selectors; for validation, controllers and the drivers' side somebody reads these.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.newest.published import KUBERNETES, Release, folder
from tests.newest.report import Difference, Found

DRA = "k8s.io/dynamic-resource-allocation"
FOLLOWED: Mapping[str, Mapping[str, str]] = {
    DRA: {
        "api": "allocator",
        "cel": "selectors",
        "deviceclass/extendedresourcecache": "scheduler",
        "kubeletplugin": "drivers",
        "resourceclaim": "claims",
        "resourceslice": "drivers",
        "resourceslice/tracker": "scheduler",
        "structured": "allocator",
        "structured/internal": "allocator",
        "structured/internal/experimental": "allocator",
        "structured/internal/incubating": "allocator",
        "structured/internal/stable": "allocator",
        "structured/schedulerapi": "allocator",
    },
    "k8s.io/apimachinery": {"pkg/api/resource": "quantities"},
    "k8s.io/apiserver": {
        "pkg/cel": "selectors",
        "pkg/cel/environment": "selectors",
        "pkg/cel/library": "selectors",
    },
    KUBERNETES: {
        "pkg/apis/resource/v1": "validation",
        "pkg/apis/resource/validation": "validation",
        "pkg/controller/devicetainteviction": "evictions",
        "pkg/controller/resourceclaim": "claims",
        "pkg/controller/resourcepoolstatusrequest": "pool status",
        "pkg/kubelet/cm/dra": "drivers",
        "pkg/kubelet/cm/dra/plugin": "drivers",
        "pkg/registry/resource/deviceclass": "validation",
        "pkg/registry/resource/devicetaintrule": "validation",
        "pkg/registry/resource/resourceclaim": "validation",
        "pkg/registry/resource/resourceclaimtemplate": "validation",
        "pkg/registry/resource/resourceslice": "validation",
        "pkg/scheduler/framework/plugins/dynamicresources": "scheduler",
    },
}
"""What of the product follows which folder, by module."""
GENERATED = ("zz_generated.conversion.go", "zz_generated.deepcopy.go", "zz_generated.openapi.go")
_FUNCTION = re.compile(
    r"^func (?:\(\w*\s*\*?(\w+)[^)]*\) )?(\w+)[\[(].*?^\}$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


def functions(text: str) -> dict[str, str]:
    """Return the functions of a Go file by name, methods with their type, without comments."""
    found = {}
    for match in _FUNCTION.finditer(text):
        name = f"{match[1]}.{match[2]}" if match[1] else match[2]
        found[name] = " ".join(_COMMENT.sub("", match[0]).split())
    return found


def of_folder(path: Path) -> dict[str, str]:
    """Return the functions of a package; where files define one twice, those of the last."""
    found: dict[str, str] = {}
    for file in sorted(path.glob("*.go")):
        if not file.name.endswith("_test.go") and file.name not in GENERATED:
            found |= functions(file.read_text(encoding="utf-8"))
    return found


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what became of functions, and their names."""
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            yield "new", name
        elif name not in new:
            yield "gone", name
        elif old[name] != new[name]:
            yield "changed", name


def compare(release: Release, base: Release) -> Found:
    """Compare the sources of two releases."""
    found: list[Difference] = []
    compared = 0
    for module, folders in FOLLOWED.items():
        both = [
            folder(module, one.tag if module == KUBERNETES else one.modules)
            for one in (base, release)
        ]
        for path, part in folders.items():
            old, new = (of_folder(home / path) for home in both)
            compared += len(old.keys() | new.keys())
            names = [f"{name} ({what})" for what, name in changed(old, new)]
            if names:
                where = f"{module.removeprefix('k8s.io/')}/{path}"
                found.append(Difference(f"{part}: {where}", len(names), ", ".join(names)))
    told = f"{compared} functions of the sources that the product follows, since {base.tag}"
    return Found("sources", told, tuple(found))
