"""A million reviews over HTTP with 50 schemas: what the process keeps of them."""

import copy
import json
import time
from pathlib import Path
from typing import Any

from dragoman_configs import catalog
from tests.bench.webhook.generator import Load, finished, sending
from tests.bench.webhook.reviews import KIND, NUMBER, body, shared
from tests.conformance.peer.competitors import DRAGOMAN, Running, running

SCHEMAS, REVIEWS, CONNECTIONS = 50, 1_000_000, 8
PATIENCE = 3600.0
SECONDS_BETWEEN = 5.0


def write(folder: Path) -> Path:
    """Write as many schemas, made like the catalog's, as it lacks of `SCHEMAS`."""
    known: list[dict[str, Any]] = catalog.schemas()
    more = []
    for index in range(SCHEMAS - len(known)):
        made = copy.deepcopy(known[index % len(known)])
        made["metadata"]["name"] = made["spec"]["driver"] = f"driver-{index}.example.com"
        more.append(json.dumps(made))
    path = folder / "schemas.yaml"
    path.write_text("\n---\n".join(more))
    return path


def run(folder: Path) -> dict[str, float]:
    """Measure: all parameters differ in one half of the connections, none in the other."""
    different, same = body([shared(NUMBER)]), body([{**KIND}])
    load = Load(CONNECTIONS // 2, PATIENCE, 0, REVIEWS // 2)
    samples: list[float] = []
    with (
        running(DRAGOMAN, str(write(folder))) as server,
        sending(server, different, load) as first,
        sending(server, same, load) as second,
    ):
        while first.poll() is None or second.poll() is None:
            samples.append(resident(server))
            time.sleep(SECONDS_BETWEEN)
        counts = [finished(process).requests for process in (first, second)]
    half = samples[len(samples) // 2]
    return {
        "reviews": sum(counts),
        "rss_mib": max(samples),
        "growth_percent": 100 * (samples[-1] - half) / half,
    }


def resident(server: Running) -> float:
    """Return the mebibytes that a webhook's process holds."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024
