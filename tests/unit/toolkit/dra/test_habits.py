"""What users of kubectl type: spellings of kinds, options before the command, forms of output."""

import json
from pathlib import Path

import pytest

from dragoman.cli import COMMANDS, GLOBAL_OPTIONS, USER_COMMANDS, cli, hoisted
from dragoman_toolkit.dra.durations import Duration
from dragoman_toolkit.dra.jsonpath import JSONPathError, path, template
from dragoman_toolkit.dra.kinds import SPELLINGS
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import CLASS, DRIVER, claim, device_class, held, pod, pool


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    trainer = pod("trainer", "ml", claims={"gpu": "gpu"}, node="n1")
    return Desk(
        tmp_path,
        device_class(),
        device_class("fpga", "fpga.example.com"),
        pool("n1", ["a"]),
        pool("n2", ["a", "b"]),
        held(claim("gpu", "ml"), ("n1", "a"), pods=[trainer]),
        trainer,
        objects.template("pair", "ml", CLASS),
    )


NAMES = {
    "pod": "trainer",
    "claim": "gpu",
    "template": "pair",
    "class": CLASS,
    "device": f"{DRIVER}/n1/a",
}
EXPLAINED = [
    (kind, spelling)
    for kind in NAMES
    for word in (kind, *SPELLINGS[kind])
    for spelling in (word, word.capitalize())
]


@pytest.mark.parametrize(("kind", "spelling"), EXPLAINED)
def test_every_spelling_of_a_kind_means_the_same(desk: Desk, kind: str, spelling: str) -> None:
    def said(*words: str) -> str:
        return invoke("explain", *words, "-n", "ml", "--snapshot", desk.file).output

    expected = said(kind, NAMES[kind])
    assert "unknown kind" not in expected
    assert said(spelling, NAMES[kind]) == expected
    assert said(f"{spelling}/{NAMES[kind]}") == expected


def test_names_say_their_kind_where_they_can(desk: Desk) -> None:
    assert desk.run("explain", "trainer", "-n", "ml") == desk.run("explain", "pod", "ml/trainer")
    name = f"{DRIVER}/n1/a"
    assert desk.run("explain", name, status=1) == desk.run("explain", "device", name, status=1)
    full = "resourceclaims.resource.k8s.io"
    assert desk.run("explain", full, "ml/gpu") == desk.run("explain", "claim", "ml/gpu")


@pytest.mark.parametrize(
    ("plural", "spellings"),
    [
        ("classes", SPELLINGS["class"]),
        ("nodes", ("node", "no")),
        ("namespaces", ("namespace", "ns")),
        ("pods", ("pod", "po")),
    ],
)
def test_top_takes_every_spelling(desk: Desk, plural: str, spellings: tuple[str, ...]) -> None:
    for one in spellings:
        assert desk.run("top", one) == desk.run("top", plural)


@pytest.mark.parametrize("words", [("pod/trainer",), ("po", "trainer"), ("Pods/trainer",)])
def test_who_takes_kind_and_name_in_one_word_or_two(desk: Desk, words: tuple[str, ...]) -> None:
    assert desk.run("who", *words, "-n", "ml") == desk.run("who", "trainer", "-n", "ml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topp"], 'unknown command "topp" for "kubectl dra"; did you mean "top"?'),
        (["explain", "pdo", "x"], 'unknown kind "pdo": kinds are pod, claim'),
        (["explain", "pdo", "x"], 'did you mean "pod"?'),
        (["explain", "pods"], "give a name as well, as `pods NAME`"),
        (["explain", "pod/x", "y"], "there is no need to name a kind"),
        (["explain", "namespace", "x"], 'unknown kind "namespace"'),
        (["top", "nodez"], 'did you mean "node"?'),
        (["who", "noode", "x"], 'unknown kind "noode"'),
        (["top", "--request-timeout", "soon"], "expected a duration such as 90s"),
        (["top", "-o", "xml"], "expected one of table, wide, json, yaml, name"),
        (["top", "-o", "jsonpath"], "expected one of table"),
        (["top", "-o", "go-template={{.items}}"], "write -o jsonpath='{range .items[*]}"),
        (["who", "-o", "go-template-file=x"], "or -o custom-columns=HEADER:FIELD"),
        (["top", "-o", "jsonpath={.a"], "unclosed action"),
        (["top", "-o", "custom-columns=A"], "expected HEADER:FIELD"),
        (["top", "-l", "a=b"], "a snapshot has no labels"),
        (["explain", "trainer", "-w"], "--watch has nothing to watch in a snapshot"),
        (["doctor", "--watch"], "--watch has nothing to watch in a snapshot"),
        (["holds", "-w"], "--watch has nothing to watch in a snapshot"),
    ],
)
def test_what_is_wrong_says_what_would_be_right(
    desk: Desk, arguments: list[str], message: str
) -> None:
    result = invoke(*arguments, "--snapshot", desk.file)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "first", [["-n", "ml"], ["-nml"], ["--namespace=ml"], ["--namespace", "ml"]]
)
def test_options_stand_before_the_command_as_well(desk: Desk, first: list[str]) -> None:
    result = invoke(*first, "--snapshot", desk.file, "who", "trainer")
    assert result.output == desk.run("who", "trainer", "-n", "ml")


def test_the_options_that_may_come_first_are_those_that_all_commands_share() -> None:
    command = cli.get_command(cli.make_context("dragoman", ["top"]), "top")
    assert command is not None
    there = {
        name: not getattr(one, "is_flag", False) for one in command.params for name in one.opts
    }
    assert GLOBAL_OPTIONS.items() <= there.items()
    assert hoisted(["-A"]) == ["-A"]
    assert hoisted(["--help"]) == ["--help"]


def test_every_user_command_is_listed_in_order() -> None:
    assert list(USER_COMMANDS) == sorted(USER_COMMANDS)
    assert {"help", "version", "completion"} <= COMMANDS.keys()


def test_help_is_that_of_the_command() -> None:
    assert invoke("help", "top").output == invoke("top", "--help").output
    assert invoke("help").output == invoke("--help").output
    assert 'did you mean "who"?' in invoke("help", "whoo").stderr


def test_version_names_both_sides(desk: Desk) -> None:
    assert desk.run("version").splitlines() == ["Client Version: v0.1.0", "Server Version: v1.36.3"]
    assert desk.document("version", "--client")["serverVersion"] is None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    assert f"kubectl completion {shell}" in invoke("completion", shell).output


def test_completion_without_a_shell_names_the_shells() -> None:
    result = invoke("completion")
    assert result.exit_code == 2
    assert result.stderr.endswith("Error: name a shell: bash, zsh, fish\n")


def test_forms_of_output(desk: Desk) -> None:
    assert desk.run("top", "-o", "name").splitlines() == [
        "deviceclass/fpga",
        f"deviceclass/{CLASS}",
    ]
    assert desk.run("top", "-o", "jsonpath={.classes[*].name}") == f"fpga {CLASS}"
    ranges = '{range .classes[?(@.devices>0)]}{.name}={.free}{"\\n"}{end}'
    assert desk.run("top", "-o", f"jsonpath={ranges}") == f"{CLASS}=2\n"
    table = desk.run("top", "-o", "custom-columns=NAME:.name,NONE:.x", "--no-headers")
    assert [line.split() for line in table.splitlines()] == [["fpga", "<none>"], [CLASS, "<none>"]]
    assert desk.run("who", f"{DRIVER}/n2", "-o", "name").splitlines() == [
        f"device/{DRIVER}/n2/a",
        f"device/{DRIVER}/n2/b",
    ]


@pytest.mark.parametrize("output", ["table", "json"])
def test_rows_are_sorted_by_a_field(desk: Desk, output: str) -> None:
    printed = desk.run("top", "nodes", "--sort-by", "{.free}", "-o", output)
    assert printed.index("n1") < printed.index("n2")
    other = desk.run("top", "--sort-by=.free", "--no-headers")
    assert [line.split()[0] for line in other.splitlines()] == ["fpga", CLASS]
    for field in (".metadata.name", "metadata.name", "{.metadata.name}"):
        assert desk.run("top", "--sort-by", field) == desk.run("top", "--sort-by", ".name")
    result = invoke("top", "--sort-by", ".fre", "--snapshot", desk.file)
    assert "--sort-by: nothing has .fre; there are .name" in result.stderr


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{.a[0].b}", [1]),
        ("a[-1].b", [2]),
        ("{.a[0:1].b}", [1]),
        ("{$.a[*].b}", [1, 2]),
        ("{..b}", [1, 2]),
        ("{.['c.d']}", ["x"]),
        ("{.c\\.d}", ["x"]),
        ("{.a[?(@.b==2)].b}", [2]),
        ("{.nothing}", []),
    ],
)
def test_jsonpath_is_kubectls(expression: str, expected: list[object]) -> None:
    assert path(expression)({"a": [{"b": 1}, {"b": 2}], "c.d": "x"}) == expected


def test_a_template_without_an_end_is_refused() -> None:
    for text in ("{range .a[*]}", "{end}", "{.a[}"):
        with pytest.raises(JSONPathError):
            template(text)
    assert template('{.a}{"\\t"}b')({"a": {"c": 1}}) == json.dumps({"c": 1}) + "\tb"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5.0), ("1m30s", 90.0), ("2", 2.0), ("1h", 3600.0), ("500ms", 0.5), ("1.5h", 5400.0)],
)
def test_a_time_limit_is_kubectls(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


def test_what_is_elsewhere_is_found_there(desk: Desk) -> None:
    found = invoke("explain", "trainer", "--snapshot", desk.file)
    assert "it is in namespace ml: kubectl dra explain pod trainer -n ml" in found.stderr
    assert "did you mean ml/trainer?" in invoke("explain", "trainr", "--snapshot", desk.file).stderr
    assert "did you mean trainer?" in invoke("explain", "ml/trainr", "--snapshot", desk.file).stderr
    # The beginning of a name, as people shorten the names of pods
    assert "did you mean trainer?" in invoke("explain", "ml/tra", "--snapshot", desk.file).stderr
    assert desk.run("explain", "trainer", "-A") == desk.run("explain", "trainer", "-n", "ml")
    assert (
        "it is in namespace ml" in invoke("who", "gpu", "--snapshot", desk.file, "-n", "x").stderr
    )


def test_pods_of_other_namespaces_are_mentioned(desk: Desk) -> None:
    assert desk.run("top", "pods", "-n", "web") == (
        "No pod in namespace web has devices or waits for them; 1 pod of other namespaces does: "
        "-A shows it.\n"
    )


@pytest.mark.parametrize("command", [("who",), ("explain", "device"), ("drain", "--dry-run")])
def test_a_device_that_is_not_there_leads_to_those_that_are(
    desk: Desk, command: tuple[str, ...]
) -> None:
    result = invoke(*command, f"{DRIVER}/n2/gpu-99", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert f"devices of {DRIVER}/n2: a, b" in result.stderr


def test_an_empty_cluster_asks_for_a_driver(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.run("top") == "No DeviceClass found: is a DRA driver installed?\n"
    assert desk.run("top", "nodes") == "No devices found: is a DRA driver installed?\n"


def test_options_lists_every_global_option() -> None:
    result = invoke("options")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    names = {word.rstrip(",") for line in lines[1:] for word in line.split()}
    assert names >= GLOBAL_OPTIONS.keys()
    assert max(map(len, lines)) <= 100
