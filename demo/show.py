"""The output of the demo: timed lines, progress bars, and promises kept or broken."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from demo.deployment import eventually
from tenure import Job
from tenure.verbs import Store

COLOURS = {
    "completed": "green",
    "failed": "red",
    "cancelled": "magenta",
    "paused": "yellow",
    "running": "cyan",
    "expired": "red",
    "stopped": "magenta",
}


@dataclass
class Show:
    console: Console = field(default_factory=lambda: Console(highlight=False))
    started: float = field(default_factory=time.monotonic)
    broken: list[str] = field(default_factory=list)

    def title(self, text: str) -> None:
        self.console.print()
        self.console.print(Text(text, style="bold"))

    def line(self, text: str) -> None:
        at = f"{time.monotonic() - self.started:6.2f} s  "
        self.console.print(Text(at, style="dim") + Text(text))

    def promise(self, text: str, *, held: bool) -> None:
        """Print a promise, marked as kept or broken."""
        mark = Text("✓ ", style="green") if held else Text("✗ ", style="bold red")
        self.console.print(Text(" " * 10) + mark + Text(text))
        if not held:
            self.broken.append(text)

    def watch(
        self, store: Store, jobs: Sequence[int], until: Callable[[list[Job]], bool]
    ) -> list[Job]:
        """Show progress bars of these jobs until the condition holds; return the jobs."""
        columns = (TextColumn("{task.description:>20}"), BarColumn(40), MofNCompleteColumn())
        with Progress(*columns, console=self.console, transient=False) as bars:
            rows: list[Any] = [bars.add_task("", total=None) for _ in jobs]

            def poll() -> list[Job]:
                seen = [store.show(job) for job in jobs]
                for row, job in zip(rows, seen, strict=True):
                    progress: Any = job.progress or {}
                    description = f"{job.task} {job.id} {job.status}"
                    done, total = progress.get("done", 0), progress.get("total")
                    bars.update(row, description=description, completed=done, total=total)
                return seen if until(seen) else []

            return eventually(poll)


def timeline(show: Show, jobs: Iterable[Job], width: int = 56) -> None:
    """Draw each job as a bar over real time: its wait, then its attempts."""
    shown = list(jobs)
    start = min(job.created_at for job in shown).timestamp()
    end = max((job.completed_at or job.created_at) for job in shown).timestamp()
    scale = width / max(end - start, 0.001)

    def column(timestamp: float) -> int:
        return min(width, max(0, round((timestamp - start) * scale)))

    for job in shown:
        bar = Text(" " * width)
        spans = [
            (_seconds(a["started_at"]), _seconds(a["ended_at"]), str(a["outcome"]))
            for a in job.attempts
        ]
        if job.status == "completed" and job.started_at and job.completed_at:
            last = (job.started_at.timestamp(), job.completed_at.timestamp(), "completed")
            spans = [span for span in spans if span[0] != last[0]] + [last]
        first = spans[0][0] if spans else (job.completed_at or job.created_at).timestamp()
        waited = "·" * max(0, column(first) - column(job.created_at.timestamp()))
        bar = Text(" " * column(job.created_at.timestamp())) + Text(waited, style="dim")
        for started, ended, outcome in spans:
            bar.append(" " * max(0, column(started) - len(bar)))
            bar.append("━" * max(1, column(ended) - len(bar)), style=COLOURS.get(outcome, "cyan"))
        show.console.print(Text(f"{'':8}{f'{job.task} {job.id}':<10}") + bar)
    show.console.print(Text(f"{'':18}0 s{'':<{width - 8}}{end - start:4.1f} s", style="dim"))


def _seconds(timestamp: object) -> float:
    return datetime.fromisoformat(str(timestamp)).timestamp()
