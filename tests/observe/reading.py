"""Reading a page of metrics as Prometheus does."""

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]

promtool = pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool is not there: apt-get install --no-install-recommends prometheus",
)


def complaints(page: bytes | str) -> str:
    """What the tool of Prometheus finds wrong with a page, names and units included."""
    text = page.decode() if isinstance(page, bytes) else page
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def samples(page: bytes | str) -> Samples:
    """By name, then by labels in order."""
    text = page.decode() if isinstance(page, bytes) else page
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = (
                    sample.value
                )
    return found


def value(page: bytes | str, name: str, **labels: str) -> float:
    """The sum of what has at least these labels; an error where there is none."""
    wanted = set(labels.items())
    found = [
        number for having, number in samples(page).get(name, {}).items() if wanted <= set(having)
    ]
    assert found, f"no {name} with {labels} in:\n{page!r}"
    return sum(found)


def label_values(page: bytes | str, name: str, label: str) -> set[str]:
    return {dict(having)[label] for having in samples(page)[name] if label in dict(having)}
