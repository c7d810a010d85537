"""The tasks of a job as a tree."""

from collections import defaultdict
from collections.abc import Sequence

from rich.text import Text
from rich.tree import Tree

from tenure.cli.listing import how_far
from tenure.cli.printing import Printer, clean
from tenure.domain.job import Job


def tasks_below(show: Printer, job: Job, jobs: Sequence[Job], most: int) -> Tree | None:
    """What is below this job, of all the jobs of its root; none if nothing is."""
    children: dict[int | None, list[Job]] = defaultdict(list)
    for one in sorted(jobs, key=lambda one: one.id):
        children[one.parent_id].append(one)
    if not children[job.id]:
        return None
    tree = Tree("", hide_root=True, guide_style="dim")
    places = [(tree, child) for child in reversed(children[job.id])]
    shown = 0
    while places:
        above, one = places.pop()
        if shown == most:
            tree.add(Text(f"and {len(places) + 1} more or more", "dim"))
            break
        shown += 1
        place = above.add(_line(show, one))
        places += [(place, child) for child in reversed(children[one.id])]
    return tree


def _line(show: Printer, job: Job) -> Text:
    name = f"{job.id} {job.key or job.task or ''}".strip()
    far = how_far(job.progress) if job.worker_id else ""
    return Text.assemble(clean(name), "  ", show.status(job.status), f"  {far}" if far else "")
