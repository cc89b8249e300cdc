"""Manifests, settings and folders by others: `dragoman check` ends, and prints nothing to obey."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner, Result

from dragoman_toolkit.check.check import check
from dragoman_toolkit.dra.cluster.files import trees
from dragoman_toolkit.dra.output import Unusable

HANGS = 60
"""Seconds after which a test fails instead of waiting without end."""

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: main}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: a.example.com}}]}}
"""


def merges(bottom: str) -> str:
    """Write ten lines that merge the first of them 10⁹ times."""
    lines = [f"a0: &a0 {bottom}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, 10)]
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"does not end within {HANGS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANGS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, arguments, catch_exceptions=False)


BOTTOMS = pytest.mark.parametrize("bottom", ["{}", "{k: v}", "{k: {l: [m]}}"])


@pytest.mark.hostile("yaml")
@BOTTOMS
def test_merge_keys_are_counted_in_manifests(folder: Path, bottom: str) -> None:
    (folder / "bomb.yaml").write_text(merges(bottom))
    (folder / "good.yaml").write_text(CLAIM)
    result = run("bomb.yaml", "good.yaml")
    assert result.exit_code == 2
    assert "more than 100000 values in one document" in result.stdout
    assert "checked 1 object" in result.stderr


@pytest.mark.hostile("yaml")
@BOTTOMS
def test_merge_keys_are_counted_in_settings(folder: Path, bottom: str) -> None:
    (folder / ".dragoman.yaml").write_text(merges(bottom))
    (folder / "good.yaml").write_text(CLAIM)
    result = run("good.yaml")
    assert result.exit_code == 2
    assert ".dragoman.yaml" in result.stderr
    assert "more than 100000 values" in result.stderr


@pytest.mark.hostile("yaml")
@pytest.mark.parametrize("option", ["--schemas", "--slices"])
def test_merge_keys_are_counted_in_files_of_options(folder: Path, option: str) -> None:
    (folder / "bomb.yaml").write_text(merges("{}"))
    (folder / "good.yaml").write_text(CLAIM)
    result = run("good.yaml", option, "bomb.yaml")
    assert (result.exit_code, "more than 100000 values" in result.stderr) == (2, True)


@pytest.mark.hostile("yaml")
def test_merge_keys_are_counted_in_manifests_of_the_plugin(folder: Path) -> None:
    (folder / "bomb.yaml").write_text(merges("{}"))
    with pytest.raises(Unusable, match="more than 100000 values"):
        list(trees([str(folder / "bomb.yaml")]))


@pytest.mark.hostile("yaml")
def test_a_finding_below_many_merges_is_placed(folder: Path) -> None:
    """Looking for a field must not walk all merges again."""
    lines = ["x0: &x0 {k: v}"]
    lines += [f"x{i}: &x{i} {{<<: [*x{i - 1}, *x{i - 1}]}}" for i in range(1, 10)]
    (folder / "m.yaml").write_text(
        CLAIM + "\n".join(lines) + "\n" + "".join(f"y{i}: {{<<: *x9}}\n" for i in range(3))
    )
    result = run("m.yaml")
    assert "m.yaml:5:1: error: ResourceClaim main: unknown field" in result.stdout


@pytest.mark.hostile("yaml")
def test_many_unknown_fields_are_summed_up(folder: Path) -> None:
    (folder / "m.yaml").write_text(CLAIM + "".join(f"field{i}: 1\n" for i in range(20_000)))
    lines = run("m.yaml").stdout.splitlines()
    assert len(lines) < 250
    assert "and 19900 more unknown fields" in lines[-1]


@pytest.mark.hostile("yaml")
@pytest.mark.parametrize("how", ["named", "folder", "pattern", "option"])
@pytest.mark.parametrize("kind", ["FIFO", "socket", "device"])
def test_only_regular_files_are_opened(folder: Path, kind: str, how: str) -> None:
    (folder / "good.yaml").write_text(CLAIM)
    path = folder / "x.yaml"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("x.yaml")
    arguments = {
        "named": ["x.yaml", "good.yaml"],
        "folder": ["."],
        "pattern": ["*.yaml"],
        "option": ["good.yaml", "--slices", "x.yaml"],
    }
    result = run(*arguments[how])
    assert result.exit_code == 2
    assert f"a {kind}, not a regular file" in result.output
    if how != "option":
        assert "checked 1 object" in result.stderr


@pytest.mark.hostile("yaml")
@pytest.mark.parametrize("name", ["**/*.yaml", "**/**/good.yaml", "./**", "."])
def test_links_to_folders_above_are_not_followed(folder: Path, name: str) -> None:
    (folder / "one").symlink_to(".")
    (folder / "two").symlink_to(".")
    (folder / "a").mkdir()
    (folder / "a" / "good.yaml").write_text(CLAIM)
    result = run(name)
    assert (result.exit_code, result.stderr) == (
        0,
        "checked 1 object, 0 configs; 0 errors, 0 warnings\n",
    )


def test_a_pattern_follows_the_links_that_it_names(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "link").symlink_to("a")
    (folder / "a" / "b" / "good.yaml").write_text(CLAIM)
    (folder / "a" / ".hidden.yaml").write_text(CLAIM)
    for pattern in ("link/*/*.yaml", "l*/b/good.yaml", f"{folder}/[a]/**/*.yaml", "link/**"):
        assert "checked 1 object," in run(pattern).stderr, pattern


def test_a_pipe_of_the_shell_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, CLAIM.encode())
    os.close(writer)
    assert "checked 1 object," in run(f"/dev/fd/{reader}").stderr
    os.close(reader)


HOSTILE = "x\\n::add-mask::a\\n::error::forged\\e]0;t\\a\\N\\u202e##[error]y"


@pytest.mark.hostile("terminals")
@pytest.mark.parametrize("output", ["text", "github"])
@pytest.mark.parametrize("where", ["name", "field", "value", "file", "driver"])
def test_names_are_not_obeyed(folder: Path, where: str, output: str) -> None:
    written = f'"{HOSTILE}"'
    spoken = "x\n::add-mask::a\n::error::forged\x1b]0;t\x07\x85\u202e##[error]y"
    text = CLAIM.replace("name: gpu", "name: Gpu")
    if where == "name":
        text = text.replace("main", written)
    elif where == "kind":
        text = text.replace("ResourceClaim", written)
    elif where == "field":
        text += f"{written}: 1\n"
    elif where == "value":
        text = text.replace("name: Gpu", f"name: {written}")
    elif where == "driver":
        config = f"config: [{{opaque: {{driver: {written}, parameters: {{}}}}}}], requests"
        text = text.replace("requests", config, 1)
    name = f"::{spoken.replace('/', '')}.yaml" if where == "file" else "m.yaml"
    (folder / name).write_text(text)
    (folder / f"{name}.json").write_text("}" if where == "file" else "{}")
    result = run(".", "-o", output)
    assert "add-mask" in result.stdout
    for line in (result.stdout + result.stderr).split("\n"):
        assert line.isprintable(), ascii(line)
        assert "##[" not in line
        if output == "github" and line and not line.startswith("checked"):
            assert line.startswith(("::error file=", "::warning file=")), ascii(line)
        else:
            assert not line.lstrip().startswith("::"), ascii(line)


@pytest.mark.hostile("terminals")
def test_errors_about_settings_are_not_obeyed(folder: Path) -> None:
    (folder / ".dragoman.yaml").write_text(f'"{HOSTILE}": 1\n')
    (folder / "m.yaml").write_text(CLAIM)
    result = run("m.yaml")
    assert result.exit_code == 2
    for line in result.stderr.split("\n"):
        assert line.isprintable()
        assert not line.lstrip().startswith("::")


@pytest.mark.hostile("yaml")
@pytest.mark.parametrize("text", ["{%s", "a: [%s"])
def test_many_empty_lines_are_read_once(folder: Path, text: str) -> None:
    (folder / "lines.yaml").write_text(text % ("\n" * 300_000))
    assert run("lines.yaml").exit_code == 2
