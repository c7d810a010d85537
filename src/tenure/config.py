"""The settings with their defaults; read once, and checked against one another."""

import dataclasses
import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin

from tenure.domain.bounds import MAX_ARGS_BYTES, MAX_RESULT_BYTES
from tenure.domain.duration import duration, in_words
from tenure.domain.retry import Retry
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid

PREFIX = "TENURE_"
TEST_PREFIX = "TENURE_TEST_"  # for the test suite; never a setting
MARKS = ("TENURE_WORKER", "TENURE_RUNNER", "TENURE_ATTEMPT")  # in the environment of jobs
# Options of commands, and the choice of the operating system; never settings.
COMMAND_LINE = ("TENURE_TOKEN", "TENURE_APP", "TENURE_PORTABLE")
_ADDRESS = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
_NAMES = re.compile(r"[\w.-]+(?:,[\w.-]+)*")
_HOSTS = re.compile(r"[\w.:/-]+(?:,[\w.:/-]+)*")
_SHORTEST_TIMEOUT = timedelta(milliseconds=10)
_MAX_DIGITS = 18  # of a whole number
SHUTDOWN_GRACE = "SHUTDOWN_GRACE_PERIOD_SECONDS"  # another name for drain_grace, in whole seconds


def require(holds: bool, why: str) -> None:
    """Refuse a setting with a sentence of the form `name: why`."""
    if not holds:
        raise SettingInvalid(why)


@dataclass(frozen=True)
class Settings:
    """The settings. Every value may be a string: a duration as "20s", None as "none"."""

    # Database.
    database_url: str | None = field(default=None, repr=False)  # none: embedded, in folder
    folder: Path = Path(".tenure")  # of the embedded PostgreSQL
    connect_timeout: timedelta = timedelta(seconds=5)  # for one connection to the database
    max_args_bytes: int = MAX_ARGS_BYTES  # of one job

    # Leases and recovery.
    lease: timedelta = timedelta(seconds=15)  # a worker is dead this long after a heartbeat
    beat: timedelta = timedelta(seconds=5)  # between two heartbeats
    recover_every: timedelta = timedelta(seconds=5)  # between two checks for dead workers
    recover_grace: timedelta = timedelta(0)  # after a lease ends, before its worker counts as dead
    orphan_after: timedelta = timedelta(minutes=2)  # a running job with an unknown worker
    pending_orphan_after: timedelta | None = None  # the same for a ready job; none: never
    orphan_message: str | None = None  # the error of an orphan; none: its worker's end
    on_orphan: Literal["retry", "fail"] = "retry"

    # Polling, for what no notification announces.
    promote_every: timedelta = timedelta(seconds=1)  # between two checks for jobs that became ready
    poll: timedelta = timedelta(seconds=2)  # between two claims of an idle worker
    policies_every: timedelta = timedelta(seconds=5)  # between two checks of the policies

    # Capacity of a worker.
    concurrency: int = 100  # coroutines, in one event loop
    processes: int = 2  # plain functions and commands, each in a process of its own
    threads: int = 16  # functions that ask for a thread
    recycle_after: int = 10_000  # jobs before a process is replaced by a fresh one
    recycle_above: int = 1 << 30  # bytes of memory above which it is replaced after its job
    preempt: str | None = None  # queues, with commas, where a higher priority takes a slot
    runner_start: Literal["auto", "fork", "spawn"] = "auto"  # auto: fork where the app permits it
    import_timeout: timedelta = timedelta(seconds=60)  # for the module of the task functions
    blocked_after: timedelta = timedelta(seconds=1)  # before a blocked event loop is reported
    freeze_max: timedelta = timedelta(hours=1)  # for frozen jobs, before they are killed

    # Results, artifacts and logs of jobs.
    artifacts: str | None = field(default=None, repr=False)  # a URL for fsspec; none: in folder
    max_artifact_bytes: int = 1 << 30  # of one job
    artifact_links: timedelta | None = None  # lifetime of links to S3; none: the server streams
    max_result_bytes: int = 1 << 20  # of one job in the database; a larger result is an artifact
    max_log_lines: int = 10_000  # of one attempt; later lines are counted and dropped

    # Metrics and logs.
    metrics: str | None = None  # HOST:PORT where a worker serves them
    metrics_prefix: str | None = "tenure_"  # of every series; none: no prefix
    log_format: Literal["text", "json"] = "text"  # of the worker's own log

    # The API and the dashboard.
    hosts: str | None = None  # names separated by commas, besides localhost and IP addresses
    proxies: str | None = None  # addresses, with commas, whose X-Forwarded-Proto and -For count
    read_timeout: timedelta | None = timedelta(seconds=10)  # of a query in the database
    write_timeout: timedelta | None = timedelta(seconds=60)  # of a change in the database
    request_timeout: timedelta = timedelta(seconds=20)  # for a request to arrive, and to be read
    max_connections: int = 500  # of clients, streams included

    # Webhooks.
    webhook_hosts: str | None = None  # names, addresses and networks inside that they may reach

    # Retries, stops and drains.
    retry: Retry = field(default_factory=Retry)  # of tasks that declare none
    stop_grace: timedelta = timedelta(seconds=30)  # from the request to the kill
    ask_for: timedelta = timedelta(0)  # of stop_grace, before code that was asked is interrupted
    last_rung: Literal["asked", "interrupted", "terminated", "killed"] = "killed"  # of a stop
    close_timeout: timedelta = timedelta(seconds=5)  # for one resource to close before it is forced
    drain_grace: timedelta = timedelta(seconds=300)  # for jobs to finish when a worker drains
    drain_limit: timedelta | None = None  # for the whole drain, before the platform kills it
    on_drain: Literal["release", "pause"] = "release"  # what happens to jobs that do not finish

    # Retention after the end; none: forever.
    keep_completed: timedelta | None = timedelta(days=7)
    keep_failed: timedelta | None = None
    keep_cancelled: timedelta | None = timedelta(days=30)
    keep_events: timedelta | None = timedelta(days=30)
    keep_audit: timedelta | None = None  # only where workers connect as the owner of the schema
    keep_records: timedelta | None = None  # of cancellations whose job is gone; also the owner's

    def __new__(cls, *_: Any, **values: Any) -> Self:
        _refuse_unknown(values, cls.names())
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for setting in dataclasses.fields(self):
            value = _read(setting.name, setting.type, getattr(self, setting.name))
            object.__setattr__(self, setting.name, value)
        self._check()

    def _check(self) -> None:
        for name in (
            *("beat", "recover_every", "promote_every", "poll", "policies_every"),
            *("connect_timeout", "request_timeout"),
        ):
            require(getattr(self, name) > timedelta(0), f"{name}: it must be longer than 0s")
        require(
            self.artifact_links is None
            or timedelta(seconds=1) <= self.artifact_links <= timedelta(days=7),
            "artifact_links: S3 takes links that are valid for 1s to 7d",
        )
        for name in ("read_timeout", "write_timeout"):
            limit = getattr(self, name)
            require(limit is None or limit >= _SHORTEST_TIMEOUT, f"{name}: it takes at least 10ms")
        for name in ("concurrency", "processes", "threads", "recycle_after", "max_connections"):
            require(getattr(self, name) > 0, f"{name}: it must be at least 1")
        lease, beat = in_words(self.lease), in_words(self.beat)
        require(
            self.beat < self.lease / 2,
            f"beat: {beat} leaves no room for a missed beat in a lease of {lease}",
        )
        # A sweep that comes later than a lease takes itself for blind.
        require(
            self.recover_every < self.lease,
            f"recover_every: looking every {in_words(self.recover_every)} is too rare to declare "
            f"a worker dead whose lease is {lease}",
        )
        require(
            self.pending_orphan_after is None or self.pending_orphan_after > self.poll,
            f"pending_orphan_after: a job must wait longer than the {in_words(self.poll)} that an "
            f"idle worker takes to look for it (poll)",
        )
        require(
            self.ask_for <= self.stop_grace,
            f"ask_for: {in_words(self.ask_for)} of asking do not fit into a stop_grace of "
            f"{in_words(self.stop_grace)}",
        )
        require(
            0 < self.max_args_bytes <= MAX_ARGS_BYTES,
            f"max_args_bytes: it takes from 1 to {MAX_ARGS_BYTES} bytes, not {self.max_args_bytes}",
        )
        require(
            0 < self.max_result_bytes <= MAX_RESULT_BYTES,
            f"max_result_bytes: it takes from 1 to {MAX_RESULT_BYTES} bytes, not "
            f"{self.max_result_bytes}; larger things are artifacts",
        )
        require(self.orphan_message != "", "orphan_message: it cannot be empty")
        require(
            self.metrics is None or _ADDRESS.fullmatch(self.metrics) is not None,
            f"metrics: it takes HOST:PORT such as 127.0.0.1:9464, not {shown(self.metrics)}",
        )
        require(
            self.hosts is None or _NAMES.fullmatch(self.hosts) is not None,
            f"hosts: it takes names of hosts without ports, with commas between them, such as "
            f"jobs.example.org, not {shown(self.hosts)}",
        )
        require(
            self.webhook_hosts is None or _HOSTS.fullmatch(self.webhook_hosts) is not None,
            f"webhook_hosts: it takes names of hosts, addresses or networks with commas between "
            f"them, such as hooks.internal,10.1.0.0/16, not {shown(self.webhook_hosts)}",
        )
        require(
            self.proxies is None or all(map(_is_network, self.proxies.split(","))),
            f"proxies: it takes addresses or networks with commas between them, such as "
            f"127.0.0.1,10.0.0.0/8, not {shown(self.proxies)}",
        )
        require(
            re.fullmatch(r"(?:[a-zA-Z_][a-zA-Z0-9_]*)?", self.metrics_prefix or "") is not None,
            f"metrics_prefix: it takes letters, digits and _, not {shown(self.metrics_prefix)}",
        )

    @property
    def capacity(self) -> Mapping[str, int]:
        """Return how many jobs of each executor a worker runs at once."""
        return {"async": self.concurrency, "process": self.processes, "thread": self.threads}

    @property
    def artifacts_url(self) -> str:
        """Return the store of artifacts, independent of the working directory."""
        return self.artifacts or str(self.folder.absolute() / "artifacts")

    def replace(self, **changes: Any) -> Self:
        """Return these settings with some of them changed."""
        _refuse_unknown(changes, self.names())
        return dataclasses.replace(self, **changes)

    def dump(self) -> dict[str, Any]:
        """Return these settings as strings and numbers that another process can read back."""
        return {name: _plain(getattr(self, name)) for name in self.names()}

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all settings."""
        return tuple(setting.name for setting in dataclasses.fields(cls))

    @classmethod
    def from_environment(cls, env: Mapping[str, str], **defaults: Any) -> Self:
        """Read TENURE_LEASE=20s and so on; an empty variable counts as not set."""
        _refuse_unknown(defaults, cls.names())
        known = {f"{PREFIX}{name.upper()}": name for name in cls.names()}
        names = [
            name for name in env if name.startswith(PREFIX) and name not in (*MARKS, *COMMAND_LINE)
        ]
        _refuse_unknown((name for name in names if not name.startswith(TEST_PREFIX)), known)
        values: dict[str, Any] = {name: env[key] for key, name in known.items() if env.get(key)}
        seconds = env.get(SHUTDOWN_GRACE)
        if seconds and "drain_grace" not in values:
            require(
                seconds.isascii() and seconds.isdigit(),
                f"drain_grace: {SHUTDOWN_GRACE} takes a whole number of seconds, not "
                f"{shown(seconds)}",
            )
            values["drain_grace"] = f"{seconds}s"
        return cls(**{**defaults, **values})

    @classmethod
    def development(cls, **changes: Any) -> Self:
        """Return settings that detect dead workers soon."""
        return cls._preset("10s", "60s", changes)

    @classmethod
    def production(cls, **changes: Any) -> Self:
        """Return settings that survive outages of the database or network of minutes."""
        return cls._preset("30s", "300s", changes)

    @classmethod
    def high_reliability(cls, **changes: Any) -> Self:
        """Return settings with more heartbeats in a lease, and a faster recovery."""
        return cls._preset("15s", "180s", changes)

    @classmethod
    def _preset(cls, beat: str, lease: str, changes: Mapping[str, Any]) -> Self:
        """Make settings with 30 s to drain and stops that are asked for, and never kill."""
        _refuse_unknown(changes, cls.names())
        values: dict[str, Any] = {"beat": beat, "lease": lease, "drain_grace": "30s"}
        values |= {"last_rung": "interrupted", **changes}
        if "ask_for" not in changes:
            values["ask_for"] = values.get("stop_grace", cls.stop_grace)
        return cls(**values)


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _plain(value: Any) -> Any:
    match value:
        case timedelta():
            return in_words(value)
        case Retry():
            return value.as_options()
        case Path():
            return str(value)
        case _:
            return value


def _refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in names:
        if name not in known:
            [nearest] = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise SettingInvalid(f"{name}: there is no such setting; the nearest is {nearest}")


def _read(name: str, kind: Any, value: Any) -> object:
    """Return the value of a setting, from itself or from its text."""
    if NoneType in get_args(kind):
        if value is None or value == "none":
            return None
        kind, _ = get_args(kind)
    if kind in (timedelta, Retry):
        try:
            return duration(value) if kind is timedelta else _retry(value)
        except InputRefused as refusal:
            about = f"{name}: " if kind is timedelta else ""
            raise SettingInvalid(f"{about}{refusal}") from None
    if get_origin(kind) is Literal:
        choices = " or ".join(map(repr, get_args(kind)))
        require(value in get_args(kind), f"{name}: it takes {choices}, not {shown(value)}")
        return value
    if kind is int:
        text = str(value).strip() if type(value) in (int, str) else ""
        whole = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
        require(whole, f"{name}: it takes a whole number, not {shown(value)}")
        return int(text)
    # The value is not shown: it may be a URL with a password in it.
    wanted: tuple[type, ...] = (str, Path) if kind is Path else (str,)
    require(isinstance(value, wanted), f"{name}: it takes a text, not {type(value).__name__}")
    return kind(value)


def _retry(value: Any) -> Retry:
    """Read a Retry, a number of retries, or options; the latter two also as text."""
    if isinstance(value, Retry):
        return value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise InputRefused(
                f'retry: it takes a number of retries or {{"max": 3, "base": "1s", ...}}, '
                f"not {shown(value)}"
            ) from None
    return Retry.from_options(value) if isinstance(value, Mapping) else Retry(max=value)
