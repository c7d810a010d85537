"""The options of a task function: what they take, what they mean, what they refuse."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tenure.domain.lifecycle import Rung
from tenure.domain.options import OptionSet
from tenure.domain.retry import Retry
from tenure.errors import InputRefused

READ: list[tuple[str, Any, Any]] = [
    ("queue", "crawl", "crawl"),
    ("priority", -5, -5),
    ("retry", 0, Retry(max=0)),
    ("retry", Retry(max=7), Retry(max=7)),
    ("retry", None, None),
    ("timeout", "2h", timedelta(hours=2)),
    ("timeout", 1.5, timedelta(seconds=1.5)),
    ("deadline", timedelta(days=1), timedelta(days=1)),
    ("grace", "0s", timedelta(0)),
    ("ask_for", "5s", timedelta(seconds=5)),
    ("last_rung", "interrupted", Rung.INTERRUPTED),
    ("last_rung", Rung.ASKED, Rung.ASKED),
    ("block_on", ["paused"], ("paused",)),
    ("block_on", [], ()),
    ("budget", {"tokens": 50_000, "euros": Decimal("0.5")}, {"tokens": 50_000, "euros": 0.5}),
    ("budget", None, None),
    ("on_budget", "pause", "pause"),
    ("pools", ["worktrees"], ("worktrees",)),
    ("memory", "512MB", 512_000_000),
    ("memory", "512 MiB", 512 * (1 << 20)),
    ("memory", "1.5gb", 1_500_000_000),
    ("memory", 64_000_000, 64_000_000),
    ("preserve_artifacts", False, False),
    ("cancel_pauses", True, True),
    ("close_timeout", "1s", timedelta(seconds=1)),
    ("orphan", "fail", "fail"),
    ("tags", {"nightly"}, ("nightly",)),
]


@pytest.mark.parametrize(("name", "written", "meant"), READ)
def test_an_option_means_what_is_written(name: str, written: Any, meant: Any) -> None:
    assert getattr(OptionSet().changed({name: written}), name) == meant


REFUSED: list[tuple[str, Any, str]] = [
    ("queue", "", "queue: it takes a text that is not empty, not ''"),
    ("queue", 5, "queue: it takes a text that is not empty, not 5"),
    ("priority", 1 << 15, "priority: it takes a whole number from -32768 to 32767, not 32768"),
    ("priority", True, "priority: it takes a whole number from -32768 to 32767, not True"),
    ("retry", "3", "retry: it takes a Retry, a number of retries or a function, not '3'"),
    ("retry", True, "retry: it takes a Retry, a number of retries or a function, not True"),
    ("retry", -1, "retry: max is -1; it takes a whole number from 0 to 32766"),
    ("timeout", "0s", "timeout: it takes a length of time more than 0s"),
    ("timeout", "soon", "timeout: 'soon' is not a duration"),
    ("timeout", "5", "timeout: '5' has no unit"),
    ("deadline", 0, "deadline: it takes a length of time more than 0s"),
    ("grace", -1, "grace: a duration cannot be negative"),
    ("ask_for", object, "ask_for: <class 'object'> is not a duration"),
    (
        "last_rung",
        "expired",
        "last_rung: it takes 'asked', 'interrupted', 'terminated' or 'killed', not 'expired'",
    ),
    ("last_rung", None, "last_rung: it takes 'asked', 'interrupted', "),
    ("block_on", "paused", "block_on: it takes a list of texts, not 'paused'"),
    ("block_on", ["cancelled"], "block_on: it takes 'paused', 'failed', both or none"),
    ("budget", 5, "budget: it takes {'unit': limit, ...}, not 5"),
    ("budget", {"tokens": -1}, "budget: the limit of tokens is -1"),
    ("on_budget", "stop", "on_budget: it takes 'fail' or 'pause', not 'stop'"),
    ("pools", "worktrees", "pools: it takes a list of texts, not 'worktrees'"),
    ("pools", [""], "pools: it takes a list of texts"),
    ("memory", 512, "memory: no job can run in 512 bytes"),
    ("memory", "512", "memory: it takes bytes or a text such as \"512MB\", not '512'"),
    ("memory", "99999999999GB", "memory: no job can run in"),
    ("memory", True, 'memory: it takes bytes or a text such as "512MB", not True'),
    ("preserve_artifacts", 1, "preserve_artifacts: it takes True or False, not 1"),
    ("cancel_pauses", "yes", "cancel_pauses: it takes True or False, not 'yes'"),
    ("close_timeout", [], "close_timeout: [] is not a duration"),
    ("orphan", "keep", "orphan: it takes 'retry' or 'fail', not 'keep'"),
    ("tags", [5], "tags: it takes a list of texts, not [5]"),
    ("tiemout", "5s", "tiemout: there is no such option; the nearest is timeout"),
]


@pytest.mark.parametrize(("name", "written", "sentence"), REFUSED)
def test_what_an_option_cannot_be_is_refused_with_a_sentence(
    name: str, written: Any, sentence: str
) -> None:
    with pytest.raises(InputRefused) as refusal:
        OptionSet().changed({name: written})
    assert str(refusal.value).startswith(sentence)


def test_asking_must_fit_into_the_grace() -> None:
    with pytest.raises(InputRefused, match="30s of asking do not fit into a grace of 20s"):
        OptionSet().changed({"grace": "20s", "ask_for": "30s"})
    with pytest.raises(InputRefused, match="30s of asking"):
        OptionSet(grace=timedelta(seconds=20)).changed({"ask_for": "30s"})


def test_the_worker_is_told_only_what_is_not_so_by_default() -> None:
    assert OptionSet().stored() == {}
    assert OptionSet().stored({"on_budget", "queue"}) == {"on_budget": "fail"}
    told = OptionSet().changed(
        {
            "queue": "crawl",
            "retry": 1,
            "timeout": "2h",
            "deadline": "1d",
            "grace": "20s",
            "ask_for": "5s",
            "last_rung": "interrupted",
            "memory": "512MB",
            "preserve_artifacts": False,
            "cancel_pauses": True,
            "close_timeout": "500ms",
            "on_budget": "pause",
        }
    )
    assert told.stored() == {
        "retry": Retry(max=1).as_options(),
        "timeout": "2h",
        "deadline": 86_400.0,  # the database makes a timestamp of it
        "grace": "20s",
        "ask_for": "5s",
        "last_rung": "interrupted",
        "memory": 512_000_000,
        "preserve_artifacts": False,
        "cancel_pauses": True,
        "close_timeout": "500ms",
        "on_budget": "pause",
    }
    assert told.described() == {**told.stored(), "queue": "crawl"}
