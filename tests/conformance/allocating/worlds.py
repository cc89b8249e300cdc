"""Random clusters for the allocator: small alphabets, so that devices conflict."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = dict[str, Any]

DRIVERS = ("a.example.com", "b.example.com")
NODES = ("node-1", "node-2")
LABELS = {"node-1": {"zone": "z1", "rank": "5"}, "node-2": {"zone": "z2", "rank": "7"}}
TAINTS = ("unhealthy", "maintenance")
EFFECTS = ("NoSchedule", "NoExecute", "None", "Future")
BASE = (
    "AdminAccess",
    "PrioritizedList",
    "PartitionableDevices",
    "DeviceTaints",
    "DeviceBindingAndStatus",
    "ConsumableCapacity",
)
STABLE = BASE[:4]
DEFAULT = BASE[:2]
OLD = ("1.34", "1.35")
"""Versions whose allocator knows little by default, and walks over pools in random order."""
NEW = "FractionalCapacityRange"
ALPHA = {
    "1.36": ("ListTypeAttributes",),
    "1.37": (
        "ListTypeAttributes",
        "OptionalNodeOperations",
        "DerivedAttributes",
        "CompatibilityGroups",
    ),
}
ALPHA["1.38"] = ALPHA["1.37"]
QUALIFIED = ("1.38",)
"""Versions in which a name without domain and one with the driver's are the same."""

RULES = "rules"
SLICE_THEMES = (
    RULES,
    "pools",
    "network",
    "per-device",
    "counters",
    "capacity",
    "taints",
    "binding",
)
CLAIM_THEMES = ("admin", "list", "match", "distinct", "all", "config", "limit", "errors")
RARE = ("errors", "limit", RULES)
ALPHA_THEMES = ("lists", "groups", "derived", "skip")


@dataclass
class Builder:
    """Makes one case.

    Attributes:
        random: Where all choices come from.
        kubernetes: "1.34" to "1.38".
        themes: What the case is about.
    """

    random: Random
    kubernetes: str
    themes: set[str] = field(default_factory=set)

    def chance(self, probability: float) -> bool:
        """Decide at random."""
        return self.random.random() < probability

    def has(self, theme: str, probability: float = 1.0) -> bool:
        """Decide whether a theme shows here."""
        return theme in self.themes and self.chance(probability)

    def pick(self, *options: Any) -> Any:
        """Choose one of several."""
        return self.random.choice(options)

    # Slices ---------------------------------------------------------------------------------------

    def attributes(self, driver: str) -> Json:
        """Make the attributes of a device."""
        pick = self.pick
        found: Json = {}
        if self.chance(0.9):
            found["model"] = {"string": pick("m1", "m2")}
        if self.chance(0.85):
            found["index"] = {"int": pick(0, 1, 2)}
        if self.chance(0.5):
            found["shared.io/numa"] = pick({"int": 0}, {"int": 1}, {"string": "x"})
        if self.chance(0.3):
            found[pick("ok", f"{driver}/ok")] = {"bool": pick(True, False)}
        if self.chance(0.3):
            build = ("1.0.0+a", "1.0.0-rc.1+b") if self.kubernetes in QUALIFIED else ()
            found["version"] = {"version": pick("1.0.0", "2.0.0", "1.0.0-rc.1", *build)}
        if self.kubernetes in QUALIFIED and self.chance(0.1):
            found[f"{driver}/{pick('index', 'model')}"] = pick({"int": 1}, {"string": "m2"})
        if self.has("lists", 0.7):
            kind = pick("ints", "ints", "strings")
            values = [1, 2, 3] if kind == "ints" else ["p", "q", "r"]
            found["links"] = {kind: self.random.sample(values, pick(1, 2))}
        if self.has("errors", 0.04):
            bad = ("version", "index") if self.kubernetes in QUALIFIED else ()
            found[pick("bad", *bad)] = pick({"version": "one"}, {}, {"strings": []})
        return found

    def capacity(self, driver: str) -> Json:
        """Make the capacities of a device."""
        if "capacity" not in self.themes:
            return {"memory": {"value": self.pick("1Gi", "2Gi", "4Gi")}} if self.chance(0.3) else {}
        found = {}
        for name in ("memory", "cores"):
            if self.chance(0.75):
                if self.kubernetes in QUALIFIED and self.chance(0.15):
                    found[f"{driver}/{name}"] = {"value": self.pick("2", "8", "10")}
                    if self.chance(0.5):
                        continue
                found[name] = {"value": self.pick("2", "4", "8", "10", "4096", "1500m")}
                if self.chance(0.7):
                    found[name]["requestPolicy"] = self.policy()
        return found

    def policy(self) -> Json:
        """Make a request policy."""
        pick = self.pick
        found: Json = {"default": pick("1", "2", "500m", "0", "3")}
        if self.chance(0.5):
            limits = {"min": pick("0", "1", "2", "100m", "1024")}
            if self.chance(0.6):
                limits["step"] = pick("1", "2", "3", "500m", "1Ki", "7")
            if self.chance(0.5):
                limits["max"] = pick("3", "4", "8", "2Ki")
            found["validRange"] = limits
        elif self.chance(0.7):
            found["validValues"] = pick(["1", "2"], ["2", "4", "8"], ["0"], ["500m", "1"], [])
        if self.chance(0.1):
            del found["default"]
        return found

    def device(self, driver: str, name: str, sets: dict[str, list[str]]) -> Json:
        """Make a device."""
        pick = self.pick
        found: Json = {"name": name}
        if attributes := self.attributes(driver):
            found["attributes"] = attributes
        if capacity := self.capacity(driver):
            found["capacity"] = capacity
        if self.has("capacity", 0.5):
            found["allowMultipleAllocations"] = pick(True, True, False)
        if sets and self.chance(0.7):
            found["consumesCounters"] = self.consumption(sets)
        if self.has("taints", 0.3):
            found["taints"] = [self.taint() for _ in range(pick(1, 1, 2))]
        if self.has("binding", 0.4):
            found["bindingConditions"] = pick(["ready"], ["ready", "cabled"], [])
            found["bindingFailureConditions"] = ["failed"]
        if self.has("network", 0.15):
            found["bindsToNode"] = True
        return found

    def taint(self) -> Json:
        """Make a taint."""
        found = {"key": self.pick(*TAINTS), "effect": self.pick(*EFFECTS)}
        if self.chance(0.5):
            found["value"] = self.pick("u", "v")
        return found

    def rule(self, number: int) -> Json:
        """Make a DeviceTaintRule."""
        selector: Json = {}
        if self.chance(0.6):
            selector["driver"] = self.pick(*DRIVERS)
        if self.chance(0.4):
            selector["pool"] = self.pick("p0", "p0", "p1")
        if self.chance(0.4):
            selector["device"] = self.pick("d0", "d1", "d2")
        spec: Json = {"taint": self.taint()}
        if not self.chance(0.1):
            spec["deviceSelector"] = selector
        return {"metadata": {"name": f"rule-{number}"}, "spec": spec}

    def consumption(self, sets: dict[str, list[str]]) -> list[Json]:
        """Make what a device takes from counter sets."""
        found = []
        for name in self.random.sample(sorted(sets), self.pick(1, 1, min(2, len(sets)))):
            counters = sets[name]
            taken = self.random.sample(counters, self.pick(1, len(counters)))
            if self.has("errors", 0.02):
                taken.append("nowhere")
            item: Json = {
                "counterSet": "nowhere" if self.has("errors", 0.02) else name,
                "counters": {one: {"value": self.pick("1", "2", "3", "500m")} for one in taken},
            }
            if self.has("groups", 0.6):
                item["compatibilityGroups"] = self.random.sample(["x", "y", "z"], self.pick(1, 2))
            found.append(item)
        return found

    def selector(self) -> Json:
        """Make a node selector."""
        pick = self.pick
        expression = pick(
            {"key": "zone", "operator": "In", "values": ["z1"]},
            {"key": "zone", "operator": "In", "values": ["z2"]},
            {"key": "zone", "operator": "NotIn", "values": ["z2", "z3"]},
            {"key": "zone", "operator": "Exists"},
            {"key": "gone", "operator": "DoesNotExist"},
            {"key": "rank", "operator": "Gt", "values": ["4"]},
            {"key": "rank", "operator": "Lt", "values": [pick("6", "4")]},
        )
        if self.has("errors", 0.03):
            expression = {"key": "zone", "operator": pick("Near", "In")}
        term: Json = {"matchExpressions": [expression]}
        if self.chance(0.2):
            term = {"matchFields": [{"key": "metadata.name", "operator": pick("In", "NotIn"),
                                     "values": [pick(*NODES)]}]}  # fmt: skip
        terms = [term]
        if self.chance(0.08):
            terms.append({"matchExpressions": [{"key": "zone", "operator": "Exists"}]})
        if self.chance(0.03):
            terms = [{}]
        return {"nodeSelectorTerms": terms}

    def place(self, node: str) -> Json:
        """Make the part of a slice that says where it is."""
        if self.has("per-device", 0.5):
            return {"perDeviceNodeSelection": True}
        if self.has("network", 0.6):
            return {"allNodes": True} if self.chance(0.5) else {"nodeSelector": self.selector()}
        return {"nodeName": node}

    def pool(self, driver: str, name: str, node: str) -> list[Json]:  # noqa: C901 — many themes
        """Make the slices of one pool."""
        pick = self.pick
        generation = pick(1, 1, 1, 2)
        sets: dict[str, list[str]] = {}
        if self.has("counters", 0.8):
            for one in ("s1", "s2")[: pick(1, 2)]:
                sets[one] = ["c1", "c2"][: pick(1, 1, 2)]
        where = self.place(node)
        parts = pick(1, 1, 2)
        made: list[Json] = []
        number = 0
        for part in range(parts):
            spec: Json = {"driver": driver, **where}
            if parts == 2 and part and self.has("pools", 0.4):
                spec = {"driver": driver, **self.place(pick(*NODES))}
            devices = []
            for _ in range(pick(1, 2, 3, 4) if parts == 1 else pick(1, 2, 3)):
                device = self.device(driver, f"d{number}", sets)
                number += 0 if self.has("errors", 0.03) else 1
                if spec.get("perDeviceNodeSelection"):
                    device.update(self.device_place())
                devices.append(device)
            if not self.has("pools", 0.05):
                spec["devices"] = devices
            if self.has("skip", 0.4):
                spec["skipNodeOperations"] = ["NodePrepareResources"]
            made.append(
                self.slice_(f"{pick('s', 't')}-{driver[0]}-{name}-{part}", name, generation, spec)
            )
        if sets:
            spec = {
                "driver": driver,
                **({"allNodes": True} if "perDeviceNodeSelection" in where else where),
            }
            spec["sharedCounters"] = [
                {"name": one, "counters": {c: {"value": pick("2", "4", "3")} for c in counters}}
                for one, counters in sets.items()
            ]
            if self.has("pools", 0.1):
                spec = {**spec, **self.place(pick(*NODES))}
            made.append(self.slice_(f"counters-{driver[0]}-{name}", name, generation, spec))
        for item in made:
            item["spec"]["pool"]["resourceSliceCount"] = len(made)
        if self.has("pools", 0.25):
            self.disturb(made)
        return made

    def device_place(self) -> Json:
        """Make the part of a device that says where it is."""
        kind = self.pick("node", "node", "all", "selector", "none")
        if kind == "node":
            return {"nodeName": self.pick("node-1", "node-1", "node-2")}
        if kind == "all":
            return {"allNodes": True}
        return {"nodeSelector": self.selector()} if kind == "selector" else {}

    def slice_(self, name: str, pool: str, generation: int, spec: Json) -> Json:
        """Make a slice; the number of slices is filled in later."""
        head = {"name": pool, "generation": generation, "resourceSliceCount": 0}
        return {"metadata": {"name": name}, "spec": {"pool": head, **spec}}

    def disturb(self, made: list[Json]) -> None:
        """Break a pool: a slice too many or too few, or an old generation."""
        kind = self.pick("missing", "newer", "older", "count")
        if kind == "missing" and len(made) > 1:
            made.pop(self.random.randrange(len(made)))
        elif kind == "count":
            for item in made:
                item["spec"]["pool"]["resourceSliceCount"] += self.pick(1, -1)
        else:
            index = self.random.randrange(len(made))
            made[index]["spec"]["pool"]["generation"] += 1 if kind == "newer" else -1

    # Claims ---------------------------------------------------------------------------------------

    def expression(self, driver: str) -> str:
        """Make a selector."""
        device = f'device.attributes["{driver}"]'
        valid = [
            f'device.driver == "{driver}"',
            f'{device}.model == "m1"',
            f'has({device}.model) && {device}.model == "m2"',
            f"{device}.?index.orValue(0) < 2",
            'has(device.attributes["shared.io"].numa)',
            f'"{driver}" in device.capacity',
            f"cel.bind(d, {device}, has(d.ok) && d.ok)",
            "true",
        ]
        if "ConsumableCapacity" in self.features():
            valid.append("device.allowMultipleAllocations == false")
        if self.has("errors", 0.06):
            return str(
                self.pick(f"{device}.nothing == 1", f"{device}.model", "device.nonsense", "1 +")
            )
        return str(self.random.choice(valid))

    def body(self, *, alternative: bool = False) -> Json:
        """Make what a request or subrequest asks for."""
        pick = self.pick
        kind = pick("any", "any", "a", "a", self.second)
        driver = DRIVERS[1] if kind == "b" else DRIVERS[0]
        found: Json = {"deviceClassName": kind, "allocationMode": "ExactCount",
                       "count": pick(1, 1, 1, 1, 2, 2, 3)}  # fmt: skip
        if self.has("limit", 0.3):
            found["count"] = pick(31, 32, 33, 16)
        if self.has("all", 0.3):
            found = {"deviceClassName": kind, "allocationMode": "All"}
        if self.chance(0.3):
            found["selectors"] = [
                {"cel": {"expression": self.expression(driver)}} for _ in range(pick(1, 1, 2))
            ]
        if self.has("admin", 0.4) and not alternative:
            found["adminAccess"] = pick(True, True, False)
        if self.has("taints", 0.5) or self.has(RULES, 0.4):
            found["tolerations"] = [self.toleration() for _ in range(pick(1, 2))]
        if self.has("capacity", 0.6):
            wanted = self.wanted(driver)
            found["capacity"] = {"requests": wanted} if wanted else {}
        if self.has("derived", 0.5):
            found["derivedAttributes"] = [{"name": pick("shared.io/numa", "derived.io/x"),
                                           "expression": self.derivation(driver)}]  # fmt: skip
        if self.has("errors", 0.02):
            found.update(pick({"deviceClassName": "nope"}, {"deviceClassName": ""},
                              {"allocationMode": "Some"}))  # fmt: skip
        return found

    def wanted(self, driver: str) -> Json:
        """Make the capacities that a request names."""
        pick, amounts = self.pick, ["1", "2", "3", "1500m", "250m", "0", "5"]
        found = {name: pick(*amounts) for name in ("memory", "cores") if self.chance(0.55)}
        if self.kubernetes in QUALIFIED and self.chance(0.2):
            found[f"{driver}/{pick('memory', 'cores')}"] = pick(*amounts)
        if self.has("errors", 0.08):
            found["memory"] = pick("9223372036854775807", "-1", "10E")
        return found

    def derivation(self, driver: str) -> str:
        """Make the expression of a derived attribute."""
        device = f'device.attributes["{driver}"]'
        return str(self.pick(
            "1", '"x"', f"{device}.?index.orValue(7)", f'{device}.?model.orValue("m")',
            f"{device}.index", "[1, 2]", "true",
        ))  # fmt: skip

    def toleration(self) -> Json:
        """Make a toleration."""
        found: Json = {}
        if self.chance(0.8):
            found["key"] = self.pick(*TAINTS)
        if self.chance(0.4):
            found["effect"] = self.pick(*EFFECTS)
        found["operator"] = self.pick("Exists", "Exists", "Equal")
        if found["operator"] == "Equal":
            found["value"] = self.pick("u", "v")
        return found

    def request(self, name: str) -> Json:
        """Make a request."""
        if self.has("list", 0.5):
            return {
                "name": name,
                "firstAvailable": [
                    {"name": f"s{number}", **self.body(alternative=True)}
                    for number in range(self.pick(1, 2, 2, 3))
                ],
            }
        return {"name": name, "exactly": self.body()}

    def names(self, requests: list[Json]) -> list[str]:
        """Choose names of requests or subrequests for constraints and configs."""
        all_names = [request["name"] for request in requests]
        all_names += [
            f"{request['name']}/{sub['name']}"
            for request in requests
            for sub in request.get("firstAvailable", ())
        ]
        return self.random.sample(all_names, self.pick(*range(1, min(3, len(all_names)) + 1)))

    def claim(self, name: str, requests: int) -> Json:
        """Make a claim."""
        asked = [self.request(f"r{number}") for number in range(requests)]
        devices: Json = {"requests": asked}
        constraints = []
        for theme, key in (("match", "matchAttribute"), ("distinct", "distinctAttribute")):
            if self.has(theme, 0.7):
                domain = DRIVERS[self.pick(0, 0, 1)]
                names = [
                    f"{domain}/model",
                    f"{domain}/index",
                    "shared.io/numa",
                    f"{domain}/version",
                ]
                if "lists" in self.themes:
                    names += [f"{domain}/links"] * 3
                if "derived" in self.themes:
                    names += ["derived.io/x", "shared.io/numa"]
                item: Json = {key: self.pick(*names)}
                if self.chance(0.4):
                    item["requests"] = self.names(asked)
                constraints.append(item)
        if self.has("errors", 0.02):
            constraints.append({"requests": []})
        if constraints:
            devices["constraints"] = constraints
        if self.has("config", 0.8):
            devices["config"] = [
                self.config(self.names(asked) if self.chance(0.7) else [])
                for _ in range(self.pick(1, 2))
            ]
        return {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": devices}}

    def config(self, requests: list[str]) -> Json:
        """Make a config."""
        opaque = {"driver": self.pick(*DRIVERS), "parameters": {"x": self.random.randrange(9)}}
        return {"opaque": opaque, **({"requests": requests} if requests else {})}

    def classes(self) -> list[Json]:
        """Make the classes."""
        found: list[Json] = [{"metadata": {"name": "any"}, "spec": {}}]
        for name, driver in zip("ab", DRIVERS, strict=True):
            selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
            if self.chance(0.1):
                selectors.append({"cel": {"expression": self.expression(driver)}})
            spec: Json = {"selectors": selectors}
            if self.has("config", 0.6):
                spec["config"] = [
                    {"opaque": self.config([])["opaque"]} for _ in range(self.pick(1, 2))
                ]
            found.append({"metadata": {"name": name}, "spec": spec})
        return found

    # Holders --------------------------------------------------------------------------------------

    def held(self, slices: list[Json]) -> list[Json]:
        """Make claims that hold some of the devices."""
        found: list[Json] = []
        for item in slices:
            for device in item["spec"].get("devices", ()):
                shares = self.pick(1, 2) if device.get("allowMultipleAllocations") else 1
                for _ in range(shares):
                    if self.chance(0.15):
                        found.append(self.holder(len(found), item, device))
        return found

    def holder(self, number: int, item: Json, device: Json) -> Json:
        """Make a claim that holds a device or a share of it."""
        result: Json = {
            "request": "r", "driver": item["spec"]["driver"],
            "pool": item["spec"]["pool"]["name"], "device": device["name"],
        }  # fmt: skip
        if self.has("admin", 0.2):
            result["adminAccess"] = True
        shareable = device.get("allowMultipleAllocations")
        if "capacity" in self.themes and self.chance(0.85 if shareable else 0.1):
            result["shareID"] = f"00000000-0000-4000-8000-{number:012d}"
            names = list(device.get("capacity", ()))
            if self.kubernetes in QUALIFIED and self.chance(0.3):
                names += [f"{item['spec']['driver']}/{one}" for one in names if "/" not in one]
            consumed = {name: self.pick("1", "2", "0") for name in names}
            if consumed and self.chance(0.9):
                result["consumedCapacity"] = consumed
        allocation = {"devices": {"results": [result]}}
        return {"metadata": {"name": f"held-{number}", "namespace": "default"},
                "spec": {}, "status": {"allocation": allocation}}  # fmt: skip

    def features(self) -> set[str]:
        """Return the features that are on."""
        return {name for name, on in self.enabled.items() if on}

    enabled: dict[str, bool] = field(default_factory=dict)
    second: str = "a"


def generate(random: Random, kubernetes: str) -> Json:
    """Make one case of the conformance format, without expectation, and its themes."""
    builder = Builder(random, kubernetes)
    themes = [
        theme
        for theme in (*SLICE_THEMES, *CLAIM_THEMES)
        if random.random() < (0.08 if theme in RARE else 0.2)
    ]
    builder.themes = set(themes) or {random.choice((*SLICE_THEMES, *CLAIM_THEMES))}
    variant = _features(builder)
    drivers = DRIVERS[: random.choice((1, 2))]
    if len(drivers) == 2:
        builder.second = "b"
    pools = [
        (driver, f"p{number}") for driver in drivers for number in range(random.choice((1, 1, 2)))
    ]
    if variant == "stable" or kubernetes in OLD:
        pools = pools[:1]  # Go walks pools in random order there
    slices = []
    for driver, name in pools:
        home = random.choice(("node-1",) * 6 + ("node-2",))
        slices += builder.pool(driver, name, home)
    random.shuffle(slices)
    claims = [
        builder.claim(f"c{number}", random.choice((1, 1, 2, 3)))
        for number in range(random.choice((1, 1, 2)))
    ]
    node: Json = {"metadata": {"name": "node-1", "labels": LABELS["node-1"]}}
    if builder.has("skip", 0.6):
        node["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
    case: Json = {
        "kubernetes": kubernetes,
        "features": builder.enabled,
        "node": node,
        "claims": claims,
        "classes": builder.classes(),
        "slices": slices,
        "allocated": builder.held(slices) if random.random() < 0.6 else [],
        "themes": sorted(builder.themes),
    }
    if RULES in builder.themes:
        case["taintRules"] = [builder.rule(number) for number in range(random.choice((1, 1, 2)))]
    if variant:
        case["variant"] = variant
    return case


def _features(builder: Builder) -> str:
    """Choose features; return the allocator to force, empty for the usual one."""
    random, new = builder.random, builder.kubernetes in ("1.37", "1.38")
    if builder.kubernetes in OLD:
        # The default gates; the alpha ones of that age are not compared.
        builder.enabled = {name: random.random() < 0.85 for name in DEFAULT}
        builder.themes -= {"capacity", "binding", "distinct", "counters", "per-device", "taints"}
        builder.themes -= {RULES}
        return ""
    enabled = dict.fromkeys(BASE, True)
    if new:
        enabled[NEW] = True
    kind = random.random()
    if kind < 0.08:
        enabled = {name: random.random() < 0.7 for name in STABLE}
        builder.themes -= {"capacity", "binding", "distinct"}
        builder.enabled = enabled
        return "stable"
    if kind < 0.2:
        enabled = {name: on and random.random() < 0.75 for name, on in enabled.items()}
        builder.enabled = enabled
        return random.choice(("incubating", "experimental"))
    if kind < 0.4:
        for name in ALPHA[builder.kubernetes]:
            if random.random() < 0.75:
                enabled[name] = True
        builder.themes |= {theme for theme in ALPHA_THEMES if new and random.random() < 0.4}
        if random.random() < 0.5:
            builder.themes.add("lists")
    elif random.random() < 0.04:
        builder.themes.add(random.choice(ALPHA_THEMES if new else ("lists",)))
    builder.enabled = enabled
    return ""
