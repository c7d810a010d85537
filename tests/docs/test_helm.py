"""The Helm chart, rendered by the template engine that Helm uses and checked against Kubernetes.

Helm itself is not run: it is on no registry of Python packages.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tenure.config import Settings
from tenure.domain.duration import duration
from tenure.observe.series import SERIES
from tests.docs.reading import code
from tests.docs.test_deploy import parses
from tests.workers import ROOT

pytest.importorskip("go_template", reason="py-go-template is built for x86-64 only")

CHART = ROOT / "deploy" / "helm" / "tenure"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# The schemas of the API; others are of operators.
OF_KUBERNETES = ("apps/v1", "batch/v1", "policy/v1", "v1", "networking.k8s.io/v1")
RENDER = """
import json, sys
from pathlib import Path
from go_template import render

for path in sys.argv[2:]:
    print(render(Path(path), json.loads(sys.argv[1])).decode())
    print("---")
"""
SHOP: dict[str, Any] = {"image": {"repository": "shop", "tag": "1.4"}, "app": "shop.jobs:app"}
EVERYTHING: dict[str, Any] = {
    **SHOP,
    "imagePullSecrets": [{"name": "registry"}],
    "settings": {
        "artifacts": "s3://shop",
        "recycle_after": 5000,
        "max_artifact_bytes": 1 << 31,  # templates have numbers as floats: 2.147483648e+09
        "hosts": "jobs.example.org",
    },
    "env": [{"name": "OPENAI_API_KEY", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
    "envFrom": [{"secretRef": {"name": "shop"}}],
    "workers": {
        "default": {"tenants": ["all"], "tolerations": [{"key": "spot", "operator": "Exists"}]},
        "crawl": {
            "queues": ["crawl", "mail"],
            "tenants": ["acme"],
            "drainSeconds": 25,
            "autoscaling": {"enabled": True, "max": 40},
        },
    },
    "server": {"ingress": {"enabled": True, "host": "jobs.example.org", "tlsSecret": "tls"}},
    "metrics": {"monitors": True},
    "networkPolicy": {"enabled": True, "egress": [{"ports": [{"port": 443}]}]},
}


def merged(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Merge values over defaults as Helm does."""
    deep = {
        name: merged(defaults[name], value)
        for name, value in own.items()
        if isinstance(value, dict) and isinstance(defaults.get(name), dict)
    }
    return {**defaults, **own, **deep}


def rendered(own: Mapping[str, Any], folder: Path) -> str:
    values = merged(VALUES, own)
    jsonschema.validate(values, SCHEMA)
    context = {
        "Values": values,
        "Release": {"Name": "shop", "Service": "Helm"},
        "Chart": {"AppVersion": "0.1.0"},
    }
    helpers = (CHART / "templates" / "_helpers.tpl").read_text()
    paths = []
    for template in sorted((CHART / "templates").glob("*.yaml")):
        paths.append(folder / template.name)
        paths[-1].write_text(helpers + template.read_text())
    # In a process of its own: the engine brings the runtime of Go, with its threads and signals.
    command = [sys.executable, "-c", RENDER, json.dumps(context), *map(str, paths)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def objects(own: Mapping[str, Any], folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    made = [it for it in yaml.safe_load_all(rendered(own, folder)) if it is not None]
    return {(it["kind"], it["metadata"]["name"]): it for it in made}


def container(made: dict[str, Any]) -> dict[str, Any]:
    [found] = made["spec"]["template"]["spec"]["containers"]
    return dict(found)


@pytest.mark.parametrize(("own", "number"), [(SHOP, 6), (EVERYTHING, 13)], ids=["few", "all"])
def test_kubernetes_takes_what_is_rendered(
    own: dict[str, Any], number: int, tmp_path: Path
) -> None:
    made = objects(own, tmp_path)
    assert len(made) == number, list(made)
    checked = [it for it in made.values() if it["apiVersion"] in OF_KUBERNETES]
    assert len(checked) >= 6
    for each in checked:
        kubernetes_validate.validate(each, "1.31", strict=True)


def test_the_values_on_the_page_are_taken(tmp_path: Path) -> None:
    [text] = code(ROOT / "docs" / "how-to" / "helm.md", "yaml")
    assert ("ScaledObject", "shop-worker-crawl") in objects(yaml.safe_load(text), tmp_path)


def test_every_command_and_setting_is_there(tmp_path: Path) -> None:
    made = objects(EVERYTHING, tmp_path)
    of_tenure = [it for (kind, _), it in made.items() if kind in ("Deployment", "Job")]
    assert len(of_tenure) == 4
    for each in of_tenure:
        program, *words = container(each)["command"]
        assert program == "tenure"
        assert parses(words)
        given = {it["name"]: it.get("value", "") for it in container(each)["env"]}
        names = {name: text for name, text in given.items() if name.startswith("TENURE_")}
        settings = Settings.from_environment(names)
        assert (settings.recycle_after, settings.max_artifact_bytes) == (5000, 1 << 31)
    crawl = container(made["Deployment", "shop-worker-crawl"])["command"]
    assert {"--queues=crawl,mail", "--tenants=acme"} <= set(crawl)
    assert "--all-tenants" in container(made["Deployment", "shop-worker-default"])["command"]


def test_every_service_has_time_to_import_its_app(tmp_path: Path) -> None:
    made = objects(SHOP, tmp_path)
    services = [container(it) for (kind, _), it in made.items() if kind == "Deployment"]
    assert [it["startupProbe"]["failureThreshold"] for it in services] == [30, 30]


def test_kubernetes_waits_longer_than_a_worker_drains(tmp_path: Path) -> None:
    for (kind, name), each in objects(EVERYTHING, tmp_path).items():
        if kind == "Deployment" and "worker" in name:
            given = {it["name"]: it.get("value") for it in container(each)["env"]}
            limit = duration(str(given["TENURE_DRAIN_LIMIT"]))
            grace = duration(str(given["TENURE_DRAIN_GRACE"]))
            stops = duration(str(given["TENURE_STOP_GRACE"]))
            waits = each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
            assert waits > limit.total_seconds() > (grace + stops).total_seconds() + 5


def test_workers_scale_by_a_series_of_the_server(tmp_path: Path) -> None:
    made = objects(EVERYTHING, tmp_path)
    scaled = made["ScaledObject", "shop-worker-crawl"]["spec"]
    assert scaled["scaleTargetRef"]["name"] == "shop-worker-crawl"
    series = 'tenure_workers_wanted{tenant=~"acme",queue=~"crawl|mail"}'
    trigger = scaled["triggers"][0]["metadata"]
    assert series in trigger["query"]
    assert trigger["threshold"] == "1"
    assert "workers_wanted" in SERIES
    behavior = scaled["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 300
    everybody = {**SHOP, "workers": {"a": {"tenants": ["all"], "autoscaling": {"enabled": True}}}}
    query = objects(everybody, tmp_path)["ScaledObject", "shop-worker-a"]["spec"]["triggers"][0]
    assert "tenure_workers_wanted{}" in query["metadata"]["query"]
    assert "replicas" not in made["Deployment", "shop-worker-crawl"]["spec"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"worker": {}},
        {"workers": {"a": {"drainGrace": 5}}},
        {"app": "shop.jobs"},
        {"settings": {"A": 1}},
    ],
)
def test_a_value_that_is_misspelt_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(jsonschema.ValidationError):
        rendered({**SHOP, **wrong}, tmp_path)


def test_a_chart_without_an_image_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refusal:
        rendered({"app": "a:b"}, tmp_path)
    assert "set image.repository to the image of your app" in refusal.value.stderr


def test_the_chart_has_the_version_of_the_package() -> None:
    import tenure

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == tenure.__version__
