"""Systemd units and manifests use settings, exit codes and commands that exist."""

import configparser
import re
import shlex
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tenure.cli.main import app
from tenure.config import Settings
from tenure.domain.duration import duration
from tenure.runtime.exit_code import ExitCode
from tests.workers import ROOT

DEPLOY = ROOT / "deploy"
DOCKER = DEPLOY / "docker"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def service(path: Path) -> dict[str, str]:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(path)
    return dict(unit["Service"])


def pods() -> dict[str, dict[str, Any]]:
    """The pods of the manifests, by the name of what makes them."""
    made = [it for path in MANIFESTS for it in yaml.safe_load_all(path.read_text())]
    return {
        it["metadata"]["name"]: it["spec"]["template"]["spec"]
        for it in made
        if "template" in it["spec"]
    }


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {it["name"]: it["value"] for it in container["env"] if "value" in it}


def parses(words: list[str]) -> bool:
    """Tell whether ``tenure`` accepts these words; nothing is run."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("tenure", list(words))
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        context = command.make_context(name, rest, parent=context)
    return True


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_systemd_units_start_existing_commands(path: Path) -> None:
    program, *words = shlex.split(service(path)["ExecStart"])
    assert program.endswith("/bin/tenure")
    assert parses(words)


def test_manifests_start_existing_commands() -> None:
    assert set(pods()) == {"tenure-worker", "tenure-serve", "tenure-migrate"}
    for pod in pods().values():
        [container] = pod["containers"]
        program, *words = container["command"]
        assert program == "tenure"
        assert parses(words)


def test_every_service_has_time_to_import_its_app() -> None:
    for name in ("tenure-worker", "tenure-serve"):
        assert pods()[name]["containers"][0]["startupProbe"]["failureThreshold"] == 30


def test_a_worker_has_more_time_to_leave_than_it_takes() -> None:
    told = dict(
        re.findall(
            r"^(TENURE_\w+)=(.*)$", (DEPLOY / "systemd" / "environment.example").read_text(), re.M
        )
    )
    unit, pod = service(DEPLOY / "systemd" / "tenure-worker.service"), pods()["tenure-worker"]
    settings = Settings.from_environment(told)
    whole = settings.drain_grace + settings.stop_grace + timedelta(seconds=5)
    assert float(unit["TimeoutStopSec"]) > whole.total_seconds()
    told = environment(pod["containers"][0])
    settings = Settings.from_environment(told)
    assert settings.drain_limit is not None
    assert pod["terminationGracePeriodSeconds"] > settings.drain_limit.total_seconds()
    assert settings.drain_limit > whole
    assert settings.drain_grace == duration("300s")


def test_the_unit_knows_the_exit_codes() -> None:
    unit = service(DEPLOY / "systemd" / "tenure-worker.service")
    assert unit["RestartPreventExitStatus"] == str(int(ExitCode.NOT_IMPORTED))
    assert unit["SuccessExitStatus"] == f"{ExitCode.HANDED_OVER:d} {ExitCode.HURRIED:d}"
    assert unit["KillMode"] == "mixed"


def test_every_alert_is_described_on_its_page() -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "tenure.rules.yml").read_text())
    page = (ROOT / "docs" / "operations" / "alerts.md").read_text()
    told = re.findall(r"^## (Tenure\w+)\n\n\*(\w+)\.\*", page, re.MULTILINE)
    assert told == [
        (rule["alert"], rule["labels"]["severity"].capitalize())
        for group in rules["groups"]
        for rule in group["rules"]
    ]


def composed() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return found["services"]


def test_containers_start_existing_commands_with_existing_settings() -> None:
    dockerfile = (DOCKER / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["tenure"]' in dockerfile
    assert "USER 10001" in dockerfile
    ours = {name: it for name, it in composed().items() if it["image"] == "shop:1.4"}
    assert set(ours) == {"migrate", "worker", "serve"}
    for service_ in ours.values():
        assert parses(service_["command"])
        Settings.from_environment(service_["environment"])


def test_an_engine_leaves_a_worker_enough_time() -> None:
    worker = composed()["worker"]
    settings = Settings.from_environment(worker["environment"])
    assert settings.drain_limit is not None
    assert duration(worker["stop_grace_period"]) > settings.drain_limit
    assert settings.drain_limit > settings.drain_grace + settings.stop_grace


def test_files_that_containers_mount_exist() -> None:
    mounts = [it for made in composed().values() for it in made["volumes"] if it.startswith(".")]
    assert len(mounts) == 5
    assert [it for it in mounts if not (DOCKER / it.split(":")[0]).is_file()] == []


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_reads_its_configuration(tmp_path: Path) -> None:
    for source in (DOCKER / "prometheus.yml", DEPLOY / "prometheus" / "tenure.rules.yml"):
        shutil.copy(source, tmp_path)
    command = ["promtool", "check", "config", "prometheus.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
