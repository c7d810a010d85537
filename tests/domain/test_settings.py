"""Settings are read once, and argue with one another."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tenure.config import Settings, require
from tenure.domain.retry import Retry
from tenure.errors import SettingInvalid

SECOND = timedelta(seconds=1)

# One text for each setting that is not its default, and what it means.
FROM_TEXT: dict[str, tuple[str, object]] = {
    "database_url": ("postgresql://db/jobs", "postgresql://db/jobs"),
    "folder": ("/var/lib/tenure", Path("/var/lib/tenure")),
    "connect_timeout": ("2s", 2 * SECOND),
    "max_args_bytes": ("1000", 1000),
    "lease": ("20s", 20 * SECOND),
    "beat": ("2s", 2 * SECOND),
    "recover_every": ("3s", 3 * SECOND),
    "recover_grace": ("1m", 60 * SECOND),
    "orphan_after": ("5m", 300 * SECOND),
    "pending_orphan_after": ("1h", 3600 * SECOND),
    "orphan_message": ("job lost", "job lost"),
    "on_orphan": ("fail", "fail"),
    "promote_every": ("500ms", SECOND / 2),
    "poll": ("3s", 3 * SECOND),
    "policies_every": ("1m", 60 * SECOND),
    "concurrency": ("500", 500),
    "processes": ("8", 8),
    "threads": ("4", 4),
    "recycle_after": ("10", 10),
    "recycle_above": ("1000000", 1_000_000),
    "preempt": ("crawl,mail", "crawl,mail"),
    "import_timeout": ("5m", 300 * SECOND),
    "blocked_after": ("5s", 5 * SECOND),
    "freeze_max": ("10m", 600 * SECOND),
    "artifacts": ("s3://bucket/jobs", "s3://bucket/jobs"),
    "max_artifact_bytes": ("1000", 1000),
    "artifact_links": ("5m", 300 * SECOND),
    "max_result_bytes": ("1000", 1000),
    "max_log_lines": ("10", 10),
    "metrics": ("127.0.0.1:9464", "127.0.0.1:9464"),
    "metrics_prefix": ("none", None),
    "log_format": ("json", "json"),
    "hosts": ("jobs.example.org,jobs", "jobs.example.org,jobs"),
    "webhook_hosts": ("hooks.internal,10.1.0.0/16,::1", "hooks.internal,10.1.0.0/16,::1"),
    "proxies": ("127.0.0.1,10.0.0.0/8", "127.0.0.1,10.0.0.0/8"),
    "read_timeout": ("none", None),
    "write_timeout": ("5m", 300 * SECOND),
    "request_timeout": ("1m", 60 * SECOND),
    "max_connections": ("10", 10),
    "retry": ("5", Retry(max=5)),
    "stop_grace": ("10s", 10 * SECOND),
    "ask_for": ("4s", 4 * SECOND),
    "close_timeout": ("10s", 10 * SECOND),
    "last_rung": ("interrupted", "interrupted"),
    "drain_grace": ("30s", 30 * SECOND),
    "drain_limit": ("40s", 40 * SECOND),
    "on_drain": ("pause", "pause"),
    "runner_start": ("spawn", "spawn"),
    "keep_completed": ("none", None),
    "keep_failed": ("90d", timedelta(days=90)),
    "keep_cancelled": ("1d", timedelta(days=1)),
    "keep_events": ("90d", timedelta(days=90)),
    "keep_audit": ("365d", timedelta(days=365)),
    "keep_records": ("365d", timedelta(days=365)),
}


def refusal(**settings: Any) -> str:
    with pytest.raises(SettingInvalid) as refused:
        Settings(**settings)
    return str(refused.value)


def test_every_setting_is_in_the_table_of_this_test() -> None:
    assert set(FROM_TEXT) == set(Settings.names())


@pytest.mark.parametrize("name", FROM_TEXT)
def test_every_setting_is_read_from_its_variable(name: str) -> None:
    text, value = FROM_TEXT[name]
    settings = Settings.from_environment({f"TENURE_{name.upper()}": text, "PATH": "/bin"})
    assert getattr(settings, name) == value
    assert settings == Settings().replace(**{name: value})
    assert settings != Settings()


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_environment({}) == Settings()
    assert Settings.from_environment({"TENURE_LEASE": ""}) == Settings()


def test_the_defaults_do_not_contradict_one_another() -> None:
    settings = Settings()
    assert (settings.lease, settings.beat) == (15 * SECOND, 5 * SECOND)
    assert settings.drain_grace == 300 * SECOND


def test_a_retry_is_read_from_options_too() -> None:
    env = {"TENURE_RETRY": '{"max": 1, "base": "2s"}'}
    assert Settings.from_environment(env).retry == Retry(max=1, base="2s")


def test_the_shutdown_grace_period_is_the_grace_of_a_drain() -> None:
    env = {"SHUTDOWN_GRACE_PERIOD_SECONDS": "10"}
    assert Settings.from_environment(env).drain_grace == 10 * SECOND


@pytest.mark.parametrize("other", ["10", "ten"])
def test_our_own_name_for_the_grace_of_a_drain_wins(other: str) -> None:
    env = {"SHUTDOWN_GRACE_PERIOD_SECONDS": other, "TENURE_DRAIN_GRACE": "1m"}
    assert Settings.from_environment(env).drain_grace == 60 * SECOND


@pytest.mark.parametrize(
    ("variable", "text", "sentence"),
    [
        (
            "TENURE_LEESE",
            "20s",
            "TENURE_LEESE: there is no such setting; the nearest is TENURE_LEASE",
        ),
        (
            "TENURE_DATABASE",
            "x",
            "TENURE_DATABASE: there is no such setting; the nearest is TENURE_DATABASE_URL",
        ),
        ("TENURE_LEASE", "20", "lease: '20' has no unit; write \"20s\" if it means seconds"),
        ("TENURE_ON_DRAIN", "kill", "on_drain: it takes 'release' or 'pause', not 'kill'"),
        ("TENURE_MAX_ARGS_BYTES", "1k", "max_args_bytes: it takes a whole number, not '1k'"),
        (
            "TENURE_RETRY",
            "thrice",
            'retry: it takes a number of retries or {"max": 3, "base": "1s", ...}, not \'thrice\'',
        ),
        (
            "TENURE_RETRY",
            "[3]",
            "retry: max is [3]; it takes a whole number from 0 to 32766",
        ),
        (
            "SHUTDOWN_GRACE_PERIOD_SECONDS",
            "5m",
            "drain_grace: SHUTDOWN_GRACE_PERIOD_SECONDS takes a whole number of seconds, not '5m'",
        ),
    ],
)
def test_a_variable_that_cannot_be_read_is_refused_with_a_sentence(
    variable: str, text: str, sentence: str
) -> None:
    with pytest.raises(SettingInvalid) as refused:
        Settings.from_environment({variable: text})
    assert str(refused.value) == sentence


def test_variables_of_the_test_suite_are_left_alone() -> None:
    assert Settings.from_environment({"TENURE_TEST_BINARIES": "system"}) == Settings()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"beat": "10s"},
            "beat: 10s leaves no room for a missed beat in a lease of 15s",
        ),
        (
            {"beat": "7s500ms"},
            "beat: 7s500ms leaves no room for a missed beat in a lease of 15s",
        ),
        ({"poll": 0}, "poll: it must be longer than 0s"),
        ({"request_timeout": 0}, "request_timeout: it must be longer than 0s"),
        ({"read_timeout": 0}, "read_timeout: it takes at least 10ms"),
        ({"max_connections": 0}, "max_connections: it must be at least 1"),
        (
            {"hosts": "https://jobs.example.org"},
            (
                "hosts: it takes names of hosts without ports, with commas between them, such as "
                "jobs.example.org, not 'https://jobs.example.org'"
            ),
        ),
        (
            {"proxies": "*"},
            (
                "proxies: it takes addresses or networks with commas between them, such as "
                "127.0.0.1,10.0.0.0/8, not '*'"
            ),
        ),
        ({"lease": "0s"}, "beat: 5s leaves no room for a missed beat in a lease of 0s"),
        (
            {"recover_every": "1m"},
            (
                "recover_every: looking every 1m is too rare to declare a worker dead "
                "whose lease is 15s"
            ),
        ),
        (
            {"pending_orphan_after": "1s"},
            (
                "pending_orphan_after: a job must wait longer than the 2s that an idle worker "
                "takes to look for it (poll)"
            ),
        ),
        ({"ask_for": "31s"}, "ask_for: 31s of asking do not fit into a stop_grace of 30s"),
        (
            {"max_result_bytes": 64 << 20},
            (
                "max_result_bytes: it takes from 1 to 33554432 bytes, not 67108864; larger things "
                "are artifacts"
            ),
        ),
        (
            {"max_args_bytes": 2_000_000},
            "max_args_bytes: it takes from 1 to 1048576 bytes, not 2000000",
        ),
        ({"orphan_message": ""}, "orphan_message: it cannot be empty"),
        (
            {"metrics": "9464"},
            "metrics: it takes HOST:PORT such as 127.0.0.1:9464, not '9464'",
        ),
        (
            {"metrics_prefix": "my jobs"},
            "metrics_prefix: it takes letters, digits and _, not 'my jobs'",
        ),
        ({"drain_grace": -1}, "drain_grace: a duration cannot be negative, and -1s is"),
        (
            {"lease": None},
            'lease: None is not a duration; write "20s", "1h30m" or "500ms"',
        ),
        ({"database_url": 5}, "database_url: it takes a text, not int"),
        ({"max_args_bytes": 1.5}, "max_args_bytes: it takes a whole number, not 1.5"),
    ],
)
def test_settings_that_cannot_hold_are_refused_with_a_sentence(
    settings: dict[str, Any], sentence: str
) -> None:
    assert refusal(**settings) == sentence


def test_a_change_is_checked_like_the_whole() -> None:
    settings = Settings().replace(lease="1m", beat="20s")
    assert settings.lease == 60 * SECOND
    with pytest.raises(SettingInvalid, match=r"^beat: 20s leaves no room"):
        settings.replace(lease="40s")
    with pytest.raises(
        SettingInvalid, match=r"^laese: there is no such setting; the nearest is le"
    ):
        settings.replace(laese="40s")


@pytest.mark.parametrize(
    ("preset", "beat", "lease"),
    [
        (Settings.development, 10, 60),
        (Settings.production, 30, 300),
        (Settings.high_reliability, 15, 180),
    ],
)
def test_a_preset_sets_beat_lease_drain_and_a_cooperative_stop_and_takes_changes(
    preset: Any, beat: int, lease: int
) -> None:
    settings = preset(on_orphan="fail")
    assert (settings.beat, settings.lease) == (beat * SECOND, lease * SECOND)
    assert settings.on_orphan == "fail"
    assert settings.drain_grace == 30 * SECOND
    assert (settings.ask_for, settings.last_rung) == (settings.stop_grace, "interrupted")
    assert preset(stop_grace="8s").ask_for == 8 * SECOND
    assert preset(ask_for="2s", last_rung="killed").ask_for == 2 * SECOND
    assert preset(lease="10m").lease == 600 * SECOND
    with pytest.raises(SettingInvalid, match="the nearest is on_orphan"):
        preset(on_orphans="fail")


def test_the_password_is_not_shown() -> None:
    settings = Settings(database_url="postgresql://me:secret@db/jobs")
    assert "secret" not in repr(settings)


def test_what_is_required_and_does_not_hold_is_a_setting_that_is_invalid() -> None:
    require(True, "lease: fine")
    with pytest.raises(SettingInvalid, match=r"^lease: too short$"):
        require(False, "lease: too short")
