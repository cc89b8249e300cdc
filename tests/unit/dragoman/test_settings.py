"""Settings from variables, and what of them is refused: one sentence that names the setting."""

import pytest

from dragoman.settings import Settings, SettingsError


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(f"DRAGOMAN_{name}", value)
    return Settings.from_environment()


def test_variables_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(
        monkeypatch,
        CLAIMS="own",
        GRACE="2.5",
        LEADER_ELECT="no",
        WORKERS="4",
        METRICS_ADDRESS=":8080",
        CATALOG_MODE="gpu.example.com=Warn nic.example.com=Off",
    )
    assert (found.claims, found.grace, found.leader_elect, found.workers) == ("own", 2.5, False, 4)
    assert found.metrics_address == ":8080"
    assert found.catalog_mode == ("gpu.example.com=Warn", "nic.example.com=Off")
    assert found.takeover_after == Settings().takeover_after


def test_the_former_spelling_of_the_catalog_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings(monkeypatch, CATALOGUE="all", CATALOGUE_MODE="x=Warn").catalog == "all"
    assert settings(monkeypatch, CATALOG="none").catalog == "none"
    assert Settings.from_environment().catalog_mode == ("x=Warn",)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("WORKERS", "0", r"--workers \(DRAGOMAN_WORKERS\): expected 1 to 1000, found 0"),
        ("WORKERS", "1001", r"--workers \(DRAGOMAN_WORKERS\): expected 1 to 1000, found 1001"),
        ("WORKERS", "many", r"DRAGOMAN_WORKERS: expected a number, found 'many'"),
        ("GRACE", "-1", r"--grace \(DRAGOMAN_GRACE\): expected 0 or more, found -1"),
        (
            "TAKEOVER_AFTER",
            "nan",
            r"--takeover-after \(DRAGOMAN_TAKEOVER_AFTER\): expected 0 or more, found nan",
        ),
        ("RESYNC", "0", r"--resync \(DRAGOMAN_RESYNC\): expected 1 or more, found 0"),
        ("CLAIMS", "mine", r"DRAGOMAN_CLAIMS: expected one of auto, own, assist, off"),
        ("LEADER_ELECT", "maybe", r"DRAGOMAN_LEADER_ELECT: expected true or false"),
        (
            "METRICS_ADDRESS",
            "localhost",
            r"--metrics-address \(DRAGOMAN_METRICS_ADDRESS\): expected HOST:PORT, .*'localhost'",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        settings(monkeypatch, **{name: value})
