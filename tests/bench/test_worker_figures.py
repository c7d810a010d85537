"""What the worker's benchmark makes of what it measured."""

import os
import subprocess
import sys

import psutil
import pytest
from bench.apps import app
from bench.idle_app import app as idle_app
from bench.idling import statements
from bench.killing import Watched
from bench.processes import family_cpu, parse_pss, pss, spent
from bench.quantiles import quantile
from bench.running import Round, costs
from bench.worker import duration
from bench.working import QUICK, Amounts

ROLLUP = """\
5581e000-7ffd1000 ---p 00000000 00:00 0    [rollup]
Rss:               50000 kB
Pss:               31250 kB
Pss_Dirty:         20000 kB
"""

LOG = """\
2026-01-01 00:00:01.000 UTC [7] LOG:  statement: 
2026-01-01 00:00:01.001 UTC [7] LOG:  execute <unnamed>: SELECT CAST("tenure"."renew"("worker" =>
\tCAST($1 AS pg_catalog.uuid)) AS pg_catalog.text)
2026-01-01 00:00:01.001 UTC [7] DETAIL:  Parameters: $1 = 'LOG of SELECT'
2026-01-01 00:00:02.001 UTC [7] LOG:  execute <unnamed>: SELECT CAST("tenure"."renew"("worker" =>
2026-01-01 00:00:02.002 UTC [8] LOG:  execute <unnamed>: SELECT pg_catalog.pg_notify($1, $2)
2026-01-01 00:00:02.003 UTC [8] LOG:  statement: LISTEN "channel"
2026-01-01 00:00:02.004 UTC [9] LOG:  checkpoint starting: time
"""  # noqa: W291


def test_of_few_values_the_worst_of_what_is_usual_is_the_largest() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.99) == 3.0


def test_of_many_values_the_worst_of_what_is_usual_leaves_out_the_rare() -> None:
    assert quantile(range(1, 1_001), 0.99) == 990
    assert quantile([7.0], 0.0) == 7.0


def test_memory_is_counted_in_millions_of_bytes() -> None:
    assert parse_pss(ROLLUP) == 32.0


def test_memory_that_is_not_told_is_no_memory_of_nothing() -> None:
    with pytest.raises(ValueError, match="no Pss"):
        parse_pss("Rss: 50000 kB\n")


def test_a_process_has_some_memory() -> None:
    assert pss(psutil.Process()) > 1


def test_a_family_has_used_what_its_dead_children_used() -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    before = family_cpu(psutil.Process())
    subprocess.run([sys.executable, "-I", "-S", "-c", burn], check=True)
    assert family_cpu(psutil.Process()) - before >= 0.15


def test_what_a_job_costs_is_shared_by_all_jobs() -> None:
    assert spent({"keeper": 1.0}, {"keeper": 3.0}, 100_000) == {"keeper": 20.0}


def test_a_round_says_how_many_jobs_ran_in_a_second_and_who_paid() -> None:
    rounds = [Round(1_000, 0.5, {"keeper": cost}, (1.0, 1.0)) for cost in (10.0, 30.0, 20.0)]
    assert rounds[0].rate == 2_000
    [told] = costs("no-op", rounds)
    assert (told.figure, told.value, told.unit) == ("no-op: CPU of keeper", 20.0, "us/job")


def test_a_run_says_how_long_it_takes() -> None:
    assert "about 55 s" in duration(55)
    assert "about 7 minutes" in duration(420)
    assert QUICK.seconds < 180 < Amounts().seconds


def test_a_tree_is_gone_when_the_last_of_its_processes_is() -> None:
    ends, starts = os.pipe()
    waits = [sys.executable, "-I", "-S", "-c", f"import os; os.read({ends}, 1)"]
    processes = [subprocess.Popen(waits, pass_fds=[ends]) for _ in range(3)]
    with Watched([process.pid for process in processes]) as watched:
        os.write(starts, b"123")
        watched.gone()
        assert [psutil.Process(one.pid).status() for one in processes] == ["zombie"] * 3
    for process in processes:
        process.wait()
    for descriptor in (ends, starts):
        os.close(descriptor)


def test_the_apps_have_the_jobs_that_are_measured() -> None:
    assert {name: task.executor for name, task in app.tasks.items()} == {
        "noop": "async",
        "noop_in_process": "process",
        "works_in_process": "process",
        "where": "async",
        "entered": "async",
        "waits": "async",
        "runs_again": "async",
        "hogs": "process",
        "steps": "async",
        "asks": "async",
    }
    assert set(idle_app.tasks) == {"where", "sleeps", "sleeps_in_process", "emits"}


def test_the_log_of_a_server_says_what_it_was_asked() -> None:
    assert statements(LOG) == {
        "nothing, to see whether a connection is alive": 1,
        "renew": 2,
        "pg_notify": 1,
        'LISTEN "channel"': 1,
    }
