"""Every verb that operates jobs or workers limits the size of its arguments."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure.domain.bounds import (
    BOUNDS,
    CONTROL,
    TENANT,
    WORKER,
    Bytes,
    Count,
    DurationRange,
    Text,
    Whole,
)
from tenure.errors import TenureError
from tests.bounds.doors import JSON, Doors, Refusal, cli, dumped, rest, sql
from tests.bounds.edges import beyond
from tests.factories import make_job, make_worker

Call = Callable[[Doors, Any], None]


def verb(statement: str) -> Call:
    """Call a verb in SQL with the value as parameter; {job}, {stop} and {worker} are filled in."""

    def call(doors: Doors, value: Any) -> None:
        job = make_job(doors.store)
        held = {"job": job, "worker": f"'{make_worker(doors.store).id}'"}
        if "{stop}" in statement:
            held["stop"] = f"'{doors.store.stop(job).cancellation_id}'"
        sql(doors, statement.format(**held), value)

    return call


def asked(method: str, path: str, **body: Any) -> Call:
    """Send a request; the value replaces VALUE in the body."""

    def call(doors: Doors, value: Any) -> None:
        place = path.format(job=make_job(doors.store))
        told = {name: value if said == VALUE else said for name, said in body.items()}
        rest(doors.http.send(method, place, content=json.dumps(told), headers=JSON))

    return call


def typed(*words: str) -> Call:
    """Run a command; the value replaces VALUE in its words."""

    def call(doors: Doors, value: Any) -> None:
        job = make_job(doors.store)
        cli(doors.cli(*(word.format(job=job).replace(VALUE, value) for word in words)))

    return call


def python(ask: Callable[[Doors, int, Any], Any]) -> Call:
    def call(doors: Doors, value: Any) -> None:
        try:
            ask(doors, make_job(doors.store), value)
        except TenureError as error:
            if error.http_status not in (404, 422):
                raise
            raise Refusal(str(error)) from None

    return call


VALUE = "VALUE"

TEXTS: Mapping[str, tuple[str, Call]] = {
    "stop: python": ("reason", python(lambda d, job, value: d.store.stop(job, reason=value))),
    "stop: sql": ("reason", verb("SELECT tenure.stop({job}, reason => %s)")),
    "stop: rest": ("reason", asked("POST", "/api/jobs/{job}/cancel", reason=VALUE)),
    "stop: cli": ("reason", typed("job", "cancel", "{job}", f"--reason={VALUE}")),
    "bulk: sql": ("reason", verb("""SELECT tenure.bulk_stop('{{"id": "{job}"}}', reason => %s)""")),
    "bulk: rest": ("reason", asked("POST", "/api/bulk", filter={"queue": "q"}, reason=VALUE)),
    "resume": (
        "reason",
        verb("SELECT tenure.stop({job}, 'pause'), tenure.resume({job}, reason => %s)"),
    ),
    "rerun": ("reason", verb("SELECT tenure.rerun({job}, reason => %s)")),
    "pause a queue: sql": (
        "reason",
        verb("SELECT tenure.pause_dispatch('queue', 'q{job}', reason => %s)"),
    ),
    "pause a queue: rest": ("reason", asked("POST", "/api/queues/q{job}/pause", reason=VALUE)),
    "drain": ("reason", verb("SELECT tenure.drain({worker}, reason => %s)")),
    "rollback": ("reason", verb("SELECT tenure.rollback({stop}, reason => %s)")),
    "a policy's reason": (
        "reason",
        verb(
            """SELECT tenure.set_policy('p', jsonb_build_object('when', '{{"age": "1h"}}'::jsonb,
            'reason', %s::text))"""
        ),
    ),
    "policy": ("policy", verb("""SELECT tenure.set_policy(%s, '{{"when": {{"age": "1h"}}}}')""")),
    "strategy": ("strategy", verb("SELECT tenure.set_strategy(%s, '{{}}')")),
    "pool": ("pool", verb("SELECT tenure.create_pool(%s)")),
    "pool: rest": ("pool", asked("POST", "/api/pools", name=VALUE)),
    "slot": ("slot", verb("SELECT tenure.create_pool('p{job}', ARRAY[%s])")),
    "limit": ("limit", verb("SELECT tenure.set_limit(%s, at_once => 1)")),
    "limit: python": ("limit", python(lambda d, _, value: d.store.set_limit(value, at_once=1))),
    "close a limit": (
        "reason",
        verb("SELECT tenure.set_limit('l', at_once => 1), tenure.close_limit('l', reason => %s)"),
    ),
    "event: name": ("event_name", verb("SELECT tenure.publish(%s)")),
    "event: rest": ("event_name", asked("POST", "/api/published", name=VALUE)),
    "event: key": ("event_key", verb("SELECT tenure.publish('paid', %s)")),
    "token": ("token", verb("SELECT tenure.create_token(%s, 'viewer', sha256('{job}'))")),
    "token: rest": ("token", asked("POST", "/api/tokens", name=VALUE, role="viewer")),
    "actor": ("actor", verb("SELECT tenure.stop({job}, by => %s)")),
    "via": ("via", verb("SELECT tenure.stop({job}, via => %s)")),
    "paused name": ("queue", verb("SELECT tenure.pause_dispatch('queue', %s)")),
    "host": ("host", verb("SELECT tenure.register(gen_random_uuid(), %s, 1, '15 s')")),
    "served": (
        "queue",
        verb("SELECT tenure.register(gen_random_uuid(), 'h', 1, '15 s', ARRAY[%s])"),
    ),
    "filter": (
        "filter_text",
        verb("SELECT tenure.list_jobs(jsonb_build_object('queue', 'default', 'text', %s::text))"),
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_of_a_verb_is_taken_up_to_its_length_and_refused_beyond(
    doors: Doors, case: str
) -> None:
    name, call = TEXTS[case]
    bound = BOUNDS[name]
    assert isinstance(bound, Text)
    call(doors, "ü" * bound.max)
    for wrong in ("x" * (bound.max + 1), "x" * 1_000_000, "a\0b", "a\ud800b"):
        with pytest.raises(Refusal) as refusal:
            call(doors, wrong)
        assert len(str(refusal.value)) < 3000


LENGTHS: Mapping[str, Call] = {
    f"{name}: {door}": call
    for name in ("grace", "ask_for")
    for door, call in {
        "sql": verb(f"SELECT tenure.stop({{job}}, {name} => %s::interval)"),
        "bulk": verb(f"SELECT tenure.bulk_stop('{{{{}}}}', {name} => %s::interval)"),
        "rest": asked("POST", "/api/jobs/{job}/cancel", **{name: VALUE}),
        "cli": typed("job", "cancel", "{job}", f"--{name.replace('_', '-')}={VALUE}"),
        "strategy": asked("PUT", "/api/strategies/s", **{name: VALUE}),
    }.items()
    if (name, door) != ("ask_for", "cli")
} | {
    "lifetime: sql": verb(
        "SELECT tenure.create_token('t', 'viewer', sha256('{job}'), lifetime => %s::interval)"
    ),
    "lifetime: rest": asked("POST", "/api/tokens", name="t", role="viewer", lifetime=VALUE),
    "lifetime: cli": typed("token", "create", "t", "--role", "viewer", f"--expires={VALUE}"),
    "age: sql": verb(
        "SELECT tenure.set_policy('p', "
        "jsonb_build_object('when', jsonb_build_object('age', %s::text)))"
    ),
    "keep: sql": verb("SELECT tenure.publish('paid', keep => %s::interval)"),
    "close: sql": verb(
        "SELECT tenure.set_limit('l', at_once => 1), tenure.close_limit('l', %s::interval)"
    ),
    "since: cli": typed("job", "list", f"--since={VALUE}"),
}


@pytest.mark.parametrize("case", LENGTHS)
def test_a_length_of_a_verb_is_taken_up_to_a_hundred_years_and_refused_beyond(
    doors: Doors, case: str
) -> None:
    LENGTHS[case](doors, "36500d")
    for wrong in ("36501d", "999999999d", "infinity", "NaN", "-1s"):
        with pytest.raises(Refusal):
            LENGTHS[case](doors, wrong)


@pytest.mark.parametrize("seconds", ["1e300", "86399913600", "-1", "1e18"])
def test_how_long_ago_a_filter_reaches_is_bounded(doors: Doors, seconds: str) -> None:
    for name in ("since", "until"):
        with pytest.raises(Refusal, match="36500 days"):
            sql(doors, f"""SELECT tenure.list_jobs('{{"{name}": {seconds}}}')""")


@pytest.mark.parametrize("moment", ["infinity", "-infinity", "0044-03-15 BC", "20000-01-01"])
def test_a_job_is_queued_for_a_time_that_can_be_shown(doors: Doors, moment: str) -> None:
    with pytest.raises(Refusal, match="1970 to 9999"):
        sql(doors, f"SELECT tenure.queue({make_job(doors.store)}, %s::timestamptz)", moment)


def test_what_is_refused_on_record_is_cut_short(doors: Doors) -> None:
    words = "x" * 16_000_000
    sql(doors, "SELECT tenure.refuse(%s, %s, via => %s)", words, words, words)
    row = doors.sql.execute("SELECT octet_length(a::text) FROM tenure.audit AS a").fetchall()
    assert [size < 10_000 for (size,) in row] == [True] * len(row)
    assert row


def test_a_limit_has_so_many_units_and_grants_at_once(doors: Doors) -> None:
    units, at_once = CONTROL["rates"], CONTROL["at_once"]
    assert isinstance(units, Count)
    assert isinstance(at_once, Whole)
    rates = {f"u{number}": {"amount": 1, "per": "1s"} for number in range(units.max + 1)}
    statement = "SELECT tenure.set_limit('l', %s::jsonb, %s)"
    for least in (at_once.min, at_once.max, None):
        sql(doors, statement, json.dumps(dict([*rates.items()][1:])), least)
    with pytest.raises(Refusal, match=f"at most {units.max} units"):
        sql(doors, statement, json.dumps(rates), None)
    for wrong in (at_once.min - 1, at_once.max + 1, -1):
        with pytest.raises(Refusal, match="at once"):
            sql(doors, statement, "{}", wrong)


@pytest.mark.parametrize("name", ["event_payload", "answer"])
def test_what_an_event_or_an_answer_carries_is_bounded(doors: Doors, name: str) -> None:
    bound = BOUNDS[name]
    assert isinstance(bound, Bytes)
    job = make_job(doors.store)
    worker = make_worker(doors.store)
    question: dict[str, Any] = {"text": "Well?", "schema": {}, "role": None}
    wait = {"name": "ask", "digest": "d", "kind": "question", "question": question}
    doors.store.await_step(worker.id, job, worker.claim_one().token, wait)
    statement = {
        "event_payload": "SELECT tenure.publish('paid', payload => %s::jsonb)",
        "answer": f"SELECT tenure.answer({job}, %s::jsonb)",
    }[name]
    for wrong in beyond(Bytes(bound.max)):
        if isinstance(wrong, dict):  # here it may be any JSON
            with pytest.raises(Refusal):
                sql(doors, statement, dumped(wrong))
    sql(doors, statement, dumped({"x": "x" * (bound.max - 100)}))


REPORTS: Mapping[str, tuple[Any, Any]] = {
    "progress": ({"progress": {"m": "x" * 60_000}}, {"progress": {"m": "x" * 70_000}}),
    "log_line": ({"logs": [{"line": "x" * 65_536}]}, {"logs": [{"line": "x" * 65_537}]}),
    "log_level": (
        {"logs": [{"line": "x", "level": "x" * 50}]},
        {"logs": [{"line": "x", "level": "x" * 51}]},
    ),
    "log line: no text": ({"logs": [{"line": "x"}]}, {"logs": [{"line": {"a": 1}}]}),
    "log line: time": (
        {"logs": [{"line": "x", "at": "2030-01-01T00:00:00Z"}]},
        {"logs": [{"line": "x", "at": "-infinity"}]},
    ),
    "artifact": (
        {"artifacts": [{"name": "x" * 500, "url": "u", "size": 0}]},
        {"artifacts": [{"name": "x" * 501, "url": "u", "size": 0}]},
    ),
    "artifact_url": (
        {"artifacts": [{"name": "x", "url": "u" * 4000, "size": 0}]},
        {"artifacts": [{"name": "x", "url": "u" * 4001, "size": 0}]},
    ),
    "artifact_size": (
        {"artifacts": [{"name": "x", "url": "u", "size": 1 << 59}]},
        {"artifacts": [{"name": "x", "url": "u", "size": -1}]},
    ),
    "unit": ({"spent": {"x" * 200: 1}}, {"spent": {"x" * 201: 1}}),
    "amount": ({"spent": {"x": 1e18}}, {"spent": {"x": 1e19}}),
    "checkpoint: number": ({"checkpoint": {"x": 1e300}}, {"checkpoint": {"x": 10**400}}),
    "step": (
        {"steps": [{"name": "x" * 1000, "digest": "d", "attempts": 1, "took": 0}]},
        {"steps": [{"name": "x" * 1001, "digest": "d", "attempts": 1, "took": 0}]},
    ),
    "partial: number": ({"partials": [1e300]}, {"partials": [10**400]}),
}


@pytest.mark.parametrize("case", REPORTS)
def test_what_a_running_job_reports_is_bounded(doors: Doors, case: str) -> None:
    make_job(doors.store)
    worker = make_worker(doors.store)
    job = worker.claim_one()
    fine, wrong = REPORTS[case]

    def report(said: dict[str, Any]) -> None:
        told = json.dumps([{"job": job.id, "token": job.token, **said}])
        sql(doors, f"SELECT tenure.report('{worker.id}', %s::jsonb)", told)

    report(fine)
    with pytest.raises(Refusal):
        report(wrong)


def test_a_lease_lasts_for_a_day_at_most(doors: Doors) -> None:
    lease = WORKER["lease"]
    assert isinstance(lease, DurationRange)
    make_worker(doors.store, lease=lease.max)
    with pytest.raises(TenureError, match="a day at most"):
        doors.store.register(uuid4(), "h", 1, lease.max + timedelta(seconds=1))


def test_a_step_and_a_trouble_are_cut_short(doors: Doors) -> None:
    worker = make_worker(doors.store)
    doors.store.renew(worker.id, trouble="x" * 100_000)
    [row] = doors.sql.execute("SELECT length(trouble) FROM tenure.worker").fetchall()
    trouble = WORKER["trouble"]
    assert isinstance(trouble, Text)
    assert row == (trouble.max,)


@pytest.mark.parametrize("name", TENANT)
def test_a_tenant_has_so_many_names_and_no_more(doors: Doors, name: str) -> None:
    most = getattr(TENANT[name], "max")  # noqa: B009 - not every kind of bound has it
    filled, one_more = {
        "lanes": (
            f"""INSERT INTO tenure.lane (queue, task)
            SELECT 'q' || n, 'work' FROM generate_series(1, {most}) AS n""",
            """SELECT tenure.enqueue('{"task": "work", "queue": "one more"}')""",
        ),
        "lanes_for_all": (
            f"""INSERT INTO tenure.lane (queue, task)
            SELECT 'q' || n, 'work' FROM generate_series(1, {most}) AS n""",
            """SELECT tenure.enqueue('{"task": "work", "queue": "new"}', role => 'operator')""",
        ),
        "policies_per_operator": (
            f"""SELECT tenure.enqueue('{{"task": "work"}}', by => 'x');
            INSERT INTO tenure.policy (name, spec, enabled, created_at, created_by, whose)
            SELECT 'p' || n, '{{"when": {{"age": "1h"}}}}', false, now(), 'x', 'x'
            FROM generate_series(1, {most}) AS n""",
            """SELECT tenure.set_policy('one more', '{"filter": {"id": 1}, "when": {"age": "1h"}}',
                by => 'x', role => 'operator')""",
        ),
        "bulks_per_operator": (
            f"""SELECT tenure.bulk_stop('{{}}', by => 'x', role => 'operator')
            FROM generate_series(1, {most}) AS n""",
            "SELECT tenure.bulk_stop('{}', by => 'x', role => 'operator')",
        ),
        "pools_in_all": (
            f"INSERT INTO tenure.pool SELECT 'p' || n, now() FROM generate_series(1, {most}) AS n",
            "SELECT tenure.create_pool('one more')",
        ),
        "limits_in_all": (
            f"""INSERT INTO tenure.limit_rule
                (name, pattern, rates, at_once, created_at, created_by)
            SELECT 'l' || n, tenure.limit_pattern('l' || n), '{{}}', 1, now(), 'x'
            FROM generate_series(1, {most}) AS n""",
            "SELECT tenure.set_limit('one more', at_once => 1)",
        ),
        "webhooks": (
            f"""INSERT INTO tenure.webhook (name, url, secret, created_at, created_by)
            SELECT 'w' || n, 'https://example.org', 'x', now(), 'x'
            FROM generate_series(1, {most}) AS n""",
            "SELECT tenure.set_webhook('one-more', 'https://example.org')",
        ),
        "slots": (
            f"""INSERT INTO tenure.pool VALUES ('p', now());
            INSERT INTO tenure.slot SELECT 'p', 's' || n FROM generate_series(1, {most}) AS n""",
            "SELECT tenure.change_slots('p', ARRAY['one more'])",
        ),
        "policies": (
            f"""INSERT INTO tenure.policy (name, spec, enabled, created_at, created_by)
            SELECT 'p' || n, '{{"when": {{"age": "1h"}}}}', false, now(), 'x'
            FROM generate_series(1, {most}) AS n""",
            """SELECT tenure.set_policy('one more', '{"when": {"age": "1h"}}')""",
        ),
        "strategies": (
            f"""INSERT INTO tenure.strategy SELECT 's' || n, '{{}}', now(), 'x'
            FROM generate_series(1, {most} - (SELECT count(*) FROM tenure.strategy)) AS n""",
            "SELECT tenure.set_strategy('one more', '{}')",
        ),
    }[name]
    doors.sql.execute(filled.encode())
    with pytest.raises(Refusal, match=str(most)):
        sql(doors, one_more)
    if name == "limits_in_all":
        sql(doors, "SELECT tenure.set_limit('l1', at_once => 2)")
    if name == "lanes":
        sql(doors, """SELECT tenure.enqueue('{"task": "work", "queue": "q1"}')""")


def test_every_bound_that_is_declared_is_tried() -> None:
    tried = {name for name, _ in TEXTS.values()} | set(REPORTS) | set(TENANT)
    lengths = {"token_lifetime", "lease", "event_keep"}
    cut = {"trouble", "problem", "verb"}
    sizes = {"policy_spec", "outcomes", "value", "step_details", "rollback_tasks", "served"}
    sizes |= {"rates", "at_once", "event_payload", "answer"}
    sizes |= {"filter_ids"}  # tests/store/test_listing.py
    sizes |= {"resume_value"}  # tests/store/test_resume_values.py
    sizes |= {"webhook", "webhook_url", "webhook_tasks", "webhook_keep"}  # .../test_webhooks.py
    sizes |= {"scale_within", "fleet"}  # tests/store/test_scale.py
    sizes |= {"announced", "announcement"}  # tests/store/test_catalogue.py
    assert set(CONTROL) | set(WORKER) <= tried | lengths | cut | sizes
