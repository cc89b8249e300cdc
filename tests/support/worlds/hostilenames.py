"""A small cluster each of whose names is an attack."""

from typing import Any

from tests.support.worlds.inventory import (
    claim,
    device,
    device_class,
    held,
    pod,
    pool,
)

TAG = "<img src=x onerror=document.title='owned'>"
QUOTE = "\"'><script>document.title='owned'</script></script><!--"
REVERSED = "\u202egnp"
"""Shown as `png` by what obeys control characters."""


def manifests() -> list[dict[str, Any]]:
    """Return nodes, devices, claims and pods with such names, attributes and taints."""
    taints = [{"key": f"taint{TAG}", "value": QUOTE, "effect": "NoSchedule"}]
    attributes = {f"a{QUOTE}": {"string": f"</script>{TAG}{REVERSED}"}}
    user = pod(f"user{TAG}", f"ns{QUOTE}", claims={"gpu": f"claim{TAG}"}, node=f"node{TAG}")
    used = claim(f"claim{TAG}", f"ns{QUOTE}")
    return [
        device_class(),
        device_class(f"class{TAG}{QUOTE}"),
        pool(
            f"node{TAG}",
            [device(f"gpu{QUOTE}", taints=taints, attributes=attributes), f"other{REVERSED}"],
        ),
        held(used, (f"node{TAG}", f"gpu{QUOTE}"), pods=[user]),
        user,
        claim(f"waits{TAG}", f"ns{QUOTE}", count=9),
        pod(f"waits{QUOTE}", f"ns{QUOTE}", claims={"gpu": f"waits{TAG}"}),
    ]
