"""``tenure job``: enqueue, show, stop and resume jobs."""

from importlib import import_module
from typing import Any

from tenure.cli.help import CommandGroup
from tenure.cli.program import LazyCommands, group, single

# The module and function of each command, and its examples without `tenure job`.
COMMANDS: dict[str, tuple[str, ...]] = {
    "enqueue": (
        "enqueue.enqueue",
        "shop.crawl site=example.org pages=3",
        "shop.crawl --args '{\"pages\": 3}' --app shop.jobs:app",
        "shop.crawl --delay 10m --key nightly --wait",
    ),
    "list": (
        "list.list_jobs",
        "",
        "--status failed --since 2h",
        "--where owner=ada --where tag=nightly --json",
    ),
    "show": ("show.show", "42", "nightly --json"),
    "watch": ("watch.watch", "42", "nightly --json"),
    "stream": ("stream.stream", "42", "nightly --after 17 --json"),
    "explain": ("show.explain", "42"),
    "stack": ("inspect.stack", "42", "nightly --json"),
    "runners": ("inspect.runners", "42", "nightly --json"),
    "cancel": (
        "stop.cancel",
        "42",
        'nightly --reason "customer left" --grace 10s',
        "42 --force",
        "42 --task 45 --no-cascade",
        "42 --at 2030-01-01T12:00Z",
        "--where status=queued --where queue=crawl",
    ),
    "cancel-status": ("stop.cancel_status", "42"),
    "cancellations": ("stop.cancellations", "", "--limit 50 --json"),
    "bulks": ("bulk.bulks", "", "--json"),
    "rollback": ("stop.rollback", "cancel-000001", "cancel-000001 --task 45"),
    "pause": ("stop.pause", "42", "42 --no-wait", "--where queue=crawl"),
    "resume": (
        "resume.resume",
        "42",
        "42 --fresh",
        "42 --value approved",
        "--where status=paused --where queue=crawl",
    ),
    "clear": ("resume.clear", '42 --reason "not worth it"'),
    "rerun": (
        "resume.rerun",
        "42",
        "42 --from draft",
        "--where status=failed --where task=shop.crawl",
    ),
    "fork": ("resume.fork", "42 --from draft", "42 --from draft --set plan='[\"a\"]'"),
    "steps": ("steps.steps", "42", "42 --json"),
    "questions": ("steps.questions", "", "42 --json"),
    "answer": ("steps.answer", "42 '{\"ok\": true}'", "42 yes --question 7"),
    "queue": ("resume.queue", "42", "42 --at 2030-01-01T12:00Z"),
    "artifacts": ("inspect.artifacts", "42"),
    "partials": ("inspect.partials", "42", "42 --tail 5 --json"),
    "log": ("inspect.log", "42", "42 --tail 20"),
    "leaks": ("inspect.leaks", "", "--json"),
}


class JobCommands(CommandGroup):
    """The commands of jobs, of which only the one that is used is imported."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": LazyCommands(COMMANDS, _load)})


def _load(name: str) -> Any:
    place, *examples = COMMANDS[name]
    module, _, function = place.partition(".")
    lines = (f"tenure job {name} {example}".strip() for example in examples)
    return single(name, getattr(import_module(f"tenure.cli.job.{module}"), function), *lines)


commands = group(
    "job",
    "tenure job list --status running",
    "tenure job show 42",
    'tenure job cancel 42 --reason "customer left"',
    cls=JobCommands,
)
