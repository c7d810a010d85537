"""The rows of a list of jobs, written in Python: a template takes twice as long for them."""

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED
from tenure.domain.values import nearest_float
from tenure.store.job_rows import JobRow
from tenure.web.dashboard.formatting import elapsed, status_mark, when
from tenure.web.dashboard.rows import TreeRow

ChildrenLine = Callable[[TreeRow], str]


def job_lines(
    rows: Sequence[TreeRow], prefix: str, may_select: bool, children: ChildrenLine
) -> Markup:
    """Return table rows; ``prefix`` is the address of a job without its id."""
    lines = _lines(rows, escape(prefix), may_select, children)
    return Markup("".join(lines))  # noqa: S704  what users write is escaped below


def _lines(
    rows: Sequence[TreeRow], prefix: str, may_select: bool, children: ChildrenLine
) -> Iterator[str]:
    for row in rows:
        yield _line(row, prefix, may_select, children(row) if row.job.children else "")
        if row.is_open:
            yield from _lines(row.below, prefix, may_select, children)


def _line(row: TreeRow, prefix: str, may_select: bool, children: str) -> str:
    job = row.job
    number = job.id
    box = f'<input type="checkbox" name="id" value="{number}" aria-label="Select job {number}"'
    check = f'<td class="check">{box} autocomplete="off"></td>' if may_select else ""
    attempt = f"{job.attempt}<small>/{job.max_attempts}</small>" if job.attempt else ""
    return (
        f'<tr id="j{number}" data-key="{number}" class="depth-{row.depth}">{check}'
        f'<th scope="row" data-head="Job"><a href="{prefix}{number}">{number}</a></th>'
        f'<td data-head="Status">{status_mark(job.status)}</td>'
        f'<td data-head="Task" class="what"><div class="line">{_what(row, prefix)}</div>'
        f'<div class="line detail">{_detail(row)}</div>{children}</td>'
        f'<td data-head="Attempt" class="figure">{attempt}</td>'
        f'<td data-head="Waited" class="figure">{elapsed(row.waited)}</td>'
        f'<td data-head="Ran" class="figure">{elapsed(row.ran)}</td>'
        f'<td data-head="Created" class="figure">{when(job.created_at)}</td></tr>\n'
    )


def _what(row: TreeRow, prefix: str) -> str:
    """Return the task of a job, and what else tells it from others."""
    job = row.job
    task = escape(job.task or "")
    text = f'<b title="{task}">{task or "no code"}</b>'
    if job.key:
        text += f' <span class="key" title="Key">{escape(job.key)}</span>'
    if job.queue != "default":
        text += f" <small>in {escape(job.queue)}</small>"
    if not job.owner.startswith("db:"):
        text += f" <small>by {escape(job.owner)}</small>"
    if job.parent_id and not row.depth:
        link = f'<a href="{prefix}{job.parent_id}">{job.parent_id}</a>'
        text += f" <small>child of {link}</small>"
    for tag in job.tags or ():
        text += f' <span class="tag">{escape(tag)}</span>'
    return text


def _detail(row: TreeRow) -> str:
    """Return how far a job is, why it stands where it stands, and its arguments."""
    text = _progress(row) if row.job.progress else ""
    if note := row.note:
        reason = escape(note.text)
        text += f'<span class="note {note.tone}" title="{reason}">{reason}</span> '
    return f'{text}<span class="args">{escape(row.preview)}</span>'


def _progress(row: TreeRow) -> str:
    text = ""
    if (share := progress_of(row.job)) is not None:
        label = f"Progress of job {row.job.id}"
        text = f'<progress max="1" value="{share:.4f}" aria-label="{label}"></progress> '
        text += f'<span class="number">{int(share * 100)} %</span> '
    if row.message:
        message = escape(row.message)
        text += f'<span class="note busy" title="{message}">{message}</span> '
    return text


def progress_of(job: Job | JobRow) -> float | None:
    """Return the share of a job that is done, from 0 to 1; none if it is not known."""
    progress = job.progress if isinstance(job.progress, dict) else {}
    done, total = progress.get("done"), progress.get("total")
    if (
        job.state in ENDED
        or not isinstance(done, int | float)
        or not isinstance(total, int | float)
    ):
        return None
    return min(max(nearest_float(done) / nearest_float(total), 0), 1) if total > 0 else None
