"""``tenure job``: what is done to jobs, and what is seen of them."""

from tenure.cli import cancelling, going_on, inside, leaving, showing
from tenure.cli.bulk import bulks
from tenure.cli.enqueueing import enqueue
from tenure.cli.following import watch
from tenure.cli.grouping import command, group
from tenure.cli.listing import list_jobs

commands = group(
    "job",
    "Enqueue jobs, look at them, stop them, let them go on.",
    "tenure job list --status running",
    "tenure job show 42",
    'tenure job cancel 42 --reason "customer left"',
)

command(
    commands,
    "enqueue",
    "tenure job enqueue shop.crawl site=example.org pages=3",
    "tenure job enqueue shop.crawl --args '{\"pages\": 3}' --app shop.jobs:app",
    "tenure job enqueue shop.crawl --delay 10m --key nightly --wait",
)(enqueue)
command(
    commands,
    "list",
    "tenure job list",
    "tenure job list --status failed --since 2h",
    "tenure job list --where owner=ada --where tag=nightly --json",
)(list_jobs)
command(commands, "show", "tenure job show 42", "tenure job show nightly --json")(showing.show)
command(commands, "watch", "tenure job watch 42", "tenure job watch nightly --json")(watch)
command(commands, "explain", "tenure job explain 42")(showing.explain)
command(commands, "stack", "tenure job stack 42", "tenure job stack nightly --json")(inside.stack)
command(commands, "runners", "tenure job runners 42", "tenure job runners nightly --json")(
    inside.runners
)
command(
    commands,
    "cancel",
    "tenure job cancel 42",
    'tenure job cancel nightly --reason "customer left" --grace 10s',
    "tenure job cancel 42 --force",
    "tenure job cancel 42 --task 45 --no-cascade",
    "tenure job cancel 42 --at 2030-01-01T12:00Z",
    "tenure job cancel --where status=queued --where queue=crawl",
)(cancelling.cancel)
command(commands, "cancel-status", "tenure job cancel-status 42")(cancelling.cancel_status)
command(
    commands,
    "cancellations",
    "tenure job cancellations",
    "tenure job cancellations --limit 50 --json",
)(cancelling.cancellations)
command(commands, "bulks", "tenure job bulks", "tenure job bulks --json")(bulks)
command(
    commands,
    "rollback",
    "tenure job rollback cancel-000001",
    "tenure job rollback cancel-000001 --task 45",
)(cancelling.rollback)
command(
    commands,
    "pause",
    "tenure job pause 42",
    "tenure job pause 42 --no-wait",
    "tenure job pause --where queue=crawl",
)(cancelling.pause)
command(
    commands,
    "resume",
    "tenure job resume 42",
    "tenure job resume 42 --fresh",
    "tenure job resume --where status=paused --where queue=crawl",
)(going_on.resume)
command(commands, "clear", 'tenure job clear 42 --reason "not worth it"')(going_on.clear)
command(
    commands,
    "rerun",
    "tenure job rerun 42",
    "tenure job rerun --where status=failed --where task=shop.crawl",
)(going_on.rerun)
command(commands, "queue", "tenure job queue 42", "tenure job queue 42 --at 2030-01-01T12:00Z")(
    going_on.queue
)
command(commands, "artifacts", "tenure job artifacts 42")(leaving.artifacts)
command(commands, "partials", "tenure job partials 42", "tenure job partials 42 --tail 5 --json")(
    leaving.partials
)
command(commands, "log", "tenure job log 42", "tenure job log 42 --tail 20")(leaving.log)
