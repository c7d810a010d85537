"""What the page about monitoring says is so."""

import re

import yaml

from tenure.observe.logs import FIELDS
from tenure.observe.series import SECONDS, SERIES
from tests.workers import ROOT

PAGE = (ROOT / "docs" / "monitoring.md").read_text()
RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "tenure.rules.yml").read_text())


def test_the_tables_have_every_series_as_it_is() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", PAGE, re.MULTILINE)
    told = {name: (kind, re.findall(r"`(\w+)`", labels), said) for name, kind, labels, said in rows}
    assert told == {
        name: (series.kind, list(series.labels), series.help) for name, series in SERIES.items()
    }


def test_every_alert_is_in_its_table() -> None:
    named = re.findall(r"^\| (Tenure\w+) \|", PAGE, re.MULTILINE)
    assert named == [rule["alert"] for group in RULES["groups"] for rule in group["rules"]]


def test_the_buckets_are_those_of_the_page() -> None:
    [told] = re.findall(r"in seconds: (.*)\.$", PAGE, re.MULTILINE)
    assert [float(bound) for bound in told.split(", ")] == list(SECONDS)


def test_the_fields_of_the_log_are_named() -> None:
    for name in FIELDS:
        assert f'"{name}": ' in PAGE
