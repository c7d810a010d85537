"""``tenure audit``: the audit log."""

from tenure.cli.connection import Connection, connected
from tenure.cli.options import Below, Limit, option
from tenure.cli.output import ago
from tenure.errors import InputRefused
from tenure.store.calls import queries

EXAMPLES = (
    "tenure audit",
    "tenure audit --job 42",
    "tenure audit --subject queue --name crawl --json",
)


@connected
def audit(
    to: Connection,
    job: str | None = option("JOB", "Only entries about this job."),
    subject: str | None = option(
        "KIND", "Only entries about a job, queue, target, pool, worker, ..."
    ),
    name: str | None = option("NAME", "Only entries about the subject of this name."),
    below: Below = None,
    limit: Limit = 20,
) -> None:
    """Show who changed what and why, including refused requests, newest first."""
    if job is not None:
        if subject is not None or name is not None:
            raise InputRefused("--job names the subject; leave out --subject and --name")
        subject, name = "job", str(to.job(job))
    entries = to.send(queries.audit_log(subject, name, below=below, n=limit))
    to.out.answer_table(
        entries,
        ("id", "when", "who", "via", "what", "about", "reason"),
        lambda entry: (
            entry.id,
            ago(entry.at),
            entry.actor,
            entry.via,
            entry.verb,
            f"{entry.subject} {entry.name}".strip(),
            entry.reason,
        ),
        "no entries",
    )
    to.out.next_page(entries, limit)
