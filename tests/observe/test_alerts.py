"""The alerts fire when they should and not before, and are made of series that exist.

promtool, which comes with Prometheus, plays them; without it only the names are compared.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenure.observe.series import SERIES
from tests.observe.reading import promtool
from tests.workers import ROOT

RULES = ROOT / "deploy" / "prometheus" / "tenure.rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "tenure.json"
SHOWN = {name: series for series in SERIES.values() for name in series.shown}


@dataclass(frozen=True)
class Alarm:
    """A series that sets off an alert at some minute, and one like it that does not."""

    series: str
    fires: str  # the values of the series, a minute apart
    at: str
    calm: str
    labels: Mapping[str, str] = field(default_factory=dict)  # of the alert, beside its severity
    says: Mapping[str, str] = field(default_factory=dict)  # what stands for a template
    beside: str = ""  # a series with which it is calm all the same


TENANT = {"tenant": "default"}
QUEUE = {"tenant": "default", "queue": "mail"}
PAUSED = 'queue_paused{tenant="default",queue="mail"}'

ALARMS = {
    "TenureWebhookFailing": Alarm(
        'webhooks_failing{tenant="default"}',
        *("2+0x30", "17m", "0x20"),
        labels=TENANT,
        says={"$value": "2"},
    ),
    "TenureCancellationFailed": Alarm(
        'cancellation_failures_total{tenant="default",status="partial"}',
        *("0 0 0 1 1 1", "5m", "7x20"),
        labels={**TENANT, "status": "partial"},
    ),
    "TenureForceKillUsed": Alarm(
        'runners_terminated_total{tenant="default",rung="killed"}',
        *("0 0 1 2 2 2", "5m", "7x20"),
        labels=TENANT,
    ),
    "TenureStopOverdue": Alarm(
        'stops_overdue{tenant="default"}',
        *("0 2 2 2 2", "3m", "0 2 0 2 0 2"),
        labels=TENANT,
        says={"$value": "2"},
    ),
    "TenureHighCancellationRate": Alarm(
        'cancellation_requests_total{tenant="default",intent="cancel",origin="user"}',
        *("0+20x20", "16m", "0+5x20"),
        labels=TENANT,
        says={'printf "%.0f" $value': "300"},
    ),
    "TenureCleanupFailed": Alarm(
        'resources_cleaned_total{outcome="failed"}', "0 0 1 1 1", "4m", "7x20"
    ),
    "TenureJobsRecovered": Alarm(
        'jobs_recovered_total{tenant="default"}',
        *("0+0x15 3x20", "20m", "7x20"),
        labels=TENANT,
        says={'printf "%.0f" $value': "3"},
    ),
    "TenureZombies": Alarm(
        'zombies{tenant="default"}',
        *("0 4 4 4 4 4", "5m", "4 0 4 0 4 0 4 0"),
        labels=TENANT,
        says={"$value": "4"},
    ),
    "TenureLateWritesRefused": Alarm(
        'late_writes_refused_total{tenant="default"}',
        *("0 0 1 1 1", "4m", "7x20"),
        labels=TENANT,
    ),
    "TenureQueueAge": Alarm(
        'oldest_job_age_seconds{tenant="default",queue="mail",status="queued"}',
        *("660x20", "6m", "540x20"),
        labels=QUEUE,
        says={"$value | humanizeDuration": "11m 0s"},
        beside=PAUSED,
    ),
    "TenureNoWorkerForTask": Alarm(
        'unrunnable_jobs{tenant="default",task="jobs.crawl"}',
        *("5x20", "6m", "5 5 0 5 5 0 5 5"),
        labels={"tenant": "default", "task": "jobs.crawl"},
        says={"$value": "5"},
    ),
    "TenureNoWorkerForQueue": Alarm(
        'unserved_jobs{tenant="default",queue="mail"}',
        *("5x20", "3m", "5 0 5 0 5 0 5 0"),
        labels=QUEUE,
        says={"$value": "5"},
        beside=PAUSED,
    ),
}


def rules() -> dict[str, dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def filled(template: str, alarm: Alarm) -> str:
    told = {f"$labels.{name}": value for name, value in alarm.labels.items()} | dict(alarm.says)
    return re.sub(r"\{\{ (.*?) \}\}", lambda found: told[found[1]], template)


def play(folder: Path, *tests: Mapping[str, Any]) -> None:
    file = folder / "alerts.test.yml"
    file.write_text(
        yaml.safe_dump(
            {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": list(tests)}
        )
    )
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def scene(name: str, series: list[tuple[str, str]], at: str, *expected: Any) -> dict[str, Any]:
    return {
        "interval": "1m",
        "input_series": [{"series": f"tenure_{one}", "values": values} for one, values in series],
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": list(expected)}],
    }


def test_every_alert_has_a_test_and_says_what_to_do() -> None:
    assert set(rules()) == set(ALARMS)
    for rule in rules().values():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert len(rule["annotations"]["summary"]) < 120
        assert len(rule["annotations"]["description"]) > 80


@promtool
def test_the_tool_of_prometheus_takes_the_rules() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", "--lint-fatal", RULES], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALARMS)} rules found" in done.stdout


@promtool
@pytest.mark.parametrize("name", ALARMS)
def test_an_alert_fires_and_names_what_it_is_about(name: str, tmp_path: Path) -> None:
    alarm, rule = ALARMS[name], rules()[name]
    expected = {
        "exp_labels": {**alarm.labels, "severity": rule["labels"]["severity"]},
        "exp_annotations": {
            what: filled(text, alarm) for what, text in rule["annotations"].items()
        },
    }
    play(tmp_path, scene(name, [(alarm.series, alarm.fires)], alarm.at, expected))


@promtool
@pytest.mark.parametrize("name", ALARMS)
def test_an_alert_stays_calm_when_nothing_is_wrong(name: str, tmp_path: Path) -> None:
    alarm = ALARMS[name]
    scenes = [scene(name, [(alarm.series, alarm.calm)], at) for at in ("2m", "5m", "16m")]
    if alarm.beside:
        series = [(alarm.series, alarm.fires), (alarm.beside, "1x20")]
        scenes.append(scene(name, series, alarm.at))
    play(tmp_path, *scenes)


@promtool
def test_replicas_of_a_server_make_one_alert(tmp_path: Path) -> None:
    alarm, name = ALARMS["TenureZombies"], "TenureZombies"
    rule = rules()[name]
    series = [
        (alarm.series.replace("}", f',instance="{one}"}}'), alarm.fires) for one in ("a", "b")
    ]
    expected = {
        "exp_labels": {**alarm.labels, "severity": rule["labels"]["severity"]},
        "exp_annotations": {
            what: filled(text, alarm) for what, text in rule["annotations"].items()
        },
    }
    play(tmp_path, scene(name, series, alarm.at, expected))


def expressions() -> Iterator[tuple[str, str]]:
    for name, rule in rules().items():
        yield name, rule["expr"]
    for panel in panels():
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def named(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Each series in an expression, with the labels that are asked of it."""
    for name, labels in re.findall(r"(tenure_\w+)(?:\{(.*?)\})?", expression):
        yield name.removeprefix("tenure_"), set(re.findall(r"(\w+)\s*[=!]~?=?", labels))


def test_rules_and_dashboard_name_only_series_and_labels_that_exist() -> None:
    seen = set()
    for where, expression in expressions():
        for name, labels in named(expression):
            assert name in SHOWN, f"{where}: nobody shows tenure_{name}"
            assert labels <= {*SHOWN[name].labels, "le"}, f"{where}: tenure_{name} has no {labels}"
            seen.add(SHOWN[name].name)
    assert set(SERIES) - seen == set(), "what nobody looks at"


@promtool
def test_the_tool_of_prometheus_can_read_every_panel(tmp_path: Path) -> None:
    variables = {"$__rate_interval": "5m", "$tenant": ".*"}
    records = []
    for n, (_, expression) in enumerate(expressions()):
        for variable, text in variables.items():
            expression = expression.replace(variable, text)
        records.append({"record": f"panel:{n}", "expr": expression})
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": records}]}))
    done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_labels_that_are_grouped_by_are_those_of_the_series() -> None:
    for where, expression in expressions():
        known = {label for name, _ in named(expression) for label in SHOWN[name].labels}
        for grouped in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
            asked = {label.strip() for label in grouped.split(",")}
            assert asked <= {*known, "le", "instance"}, f"{where}: {asked - known}"


def test_the_dashboard_reads_from_a_source_that_one_can_choose() -> None:
    board = json.loads(DASHBOARD.read_text())
    variables = {one["name"]: one for one in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    drawn = [panel for panel in panels() if panel["type"] != "row"]
    assert len(drawn) < 25
    for panel in drawn:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["targets"]
        assert panel["description"]


def test_panels_do_not_lie_on_one_another() -> None:
    taken: dict[tuple[int, int], str] = {}
    identities = [panel["id"] for panel in panels()]
    assert len(set(identities)) == len(identities)
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} lies on {taken[x, y]}"
                taken[x, y] = panel["title"]
