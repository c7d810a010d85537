"""The forms of the dashboard, as a table: path, label, consequence, and what each does."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.limits import read_rates
from tenure.domain.options import read_duration
from tenure.domain.policy import GROUPS
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, NotFound
from tenure.store.call import Call
from tenure.store.calls import control_calls, policy_calls, queries, webhook_calls, worker_calls
from tenure.store.calls.control_calls import Pausable
from tenure.web.api.strategies import strategy
from tenure.web.api.tenants import in_tenant
from tenure.web.authentication import caller_of
from tenure.web.dashboard.bulk import carry_on_bulk, start_bulk
from tenure.web.dashboard.form import Form, form_of
from tenure.web.dashboard.rendering import provide, redirect
from tenure.web.dashboard.schedules import run_now
from tenure.web.dashboard.search import read_timestamp
from tenure.web.limits import whole_number

Run = Callable[[AuthorizedClient, Form], Awaitable[Any]]

FILTERS = ("queue", "task", "target", "owner", "tag")  # of a policy
CONDITIONS = {"waiting": "Waiting for", "running": "Running for", "age": "Older than"}
FLAGS = ("superseded", "parent_failed")
SWITCHES = {
    "force": "By force, at once",
    "cascade": "Also jobs that depend on it",
    "preserve": "Keep artifacts",
    "rollback": "Undo what its children have completed",
}
_SINGULAR = {"policies": "policy", "strategies": "strategy"}
_SWITCHED = {"yes": True, "no": False}
_NO_START = "None of its jobs start until it is resumed. Running jobs continue."
_START = "Its jobs start again."


@dataclass(frozen=True)
class FormAction:
    """A form with a button; ``consequence`` is shown before it is sent."""

    path: str
    run: Run
    label: str = ""
    consequence: str = ""
    asks_reason: bool = True
    is_grave: bool = False
    then: Callable[[Any], str] | None = None  # the page to show; none: the list of the noun

    @property
    def noun(self) -> str:
        """Return what the form changes, as its button names it."""
        return _SINGULAR.get(word := self.path.split("/")[1], word.removesuffix("s"))

    async def __call__(self, request: Request) -> Response:
        result = await self.run(caller_of(request), form_of(request))
        page = self.then(result) if self.then else f"/{self.path.split('/')[1]}"
        return redirect(request, page)


def _send(call: Callable[[Form], Call[Any]]) -> Run:
    return lambda caller, form: caller.asend(call(form))


def _pausing(
    subject: Pausable, paused: str = _NO_START, resumed: str = _START
) -> tuple[FormAction, FormAction]:
    def run(verb: str, call: Callable[..., Call[Any]]) -> Run:
        async def run_verb(caller: AuthorizedClient, form: Form) -> None:
            if subject == "tenant":
                there = await in_tenant(caller, Tenant(form.name), verb)
                await there.asend(call(subject, reason=form.reason))
            else:
                await caller.asend(call(subject, form.name, reason=form.reason))

        return run_verb

    return (
        FormAction(
            f"/{subject}s/pause", run("pause", control_calls.pause_dispatch), "Pause", paused
        ),
        FormAction(
            f"/{subject}s/resume", run("resume", control_calls.resume_dispatch), "Resume", resumed
        ),
    )


async def _set_policy(caller: AuthorizedClient, form: Form) -> None:
    spec: dict[str, Any] = {
        "filter": {name: form[name].strip() for name in FILTERS if name in form},
        "when": _conditions(form),
        "intent": form.get("intent"),
        "strategy": form.get("strategy"),
        "reason": form.reason,
    }
    await caller.asend(policy_calls.set_policy(form.name, spec))


def _conditions(form: Form) -> dict[str, Any]:
    conditions: dict[str, Any] = {name: form[name] for name in CONDITIONS if name in form}
    conditions |= {name: True for name in FLAGS if name in form}
    if "at" in form:
        conditions["at"] = read_timestamp("at", form["at"])
    if "unit" in form:
        conditions["budget"] = {form["unit"].strip(): _share(form, "share")}
    if "above" in form:
        rate = {"above": _share(form, "above"), "by": form.get("by", GROUPS[0])}
        conditions["error_rate"] = {**rate, **({"of": _count(form)} if "of" in form else {})}
    return conditions


def _share(form: Form, name: str) -> float:
    try:
        return float(form.get(name, ""))
    except ValueError:
        raise InputRefused(f"{name}: must be a number such as 0.9") from None


def _count(form: Form) -> int:
    if (count := whole_number(form["of"])) is None:
        raise InputRefused("of: must be a number of jobs")
    return count


async def _switch_policy(caller: AuthorizedClient, form: Form) -> None:
    found = {policy.name: policy for policy in await caller.asend(queries.policies())}
    if form.name not in found:
        raise NotFound(f"there is no policy {form.name!r}")
    spec = found[form.name].spec
    await caller.asend(policy_calls.set_policy(form.name, spec, enabled="on" in form))


async def _set_strategy(caller: AuthorizedClient, form: Form) -> None:
    options: dict[str, Any] = {name: form.get(name) for name in ("grace", "ask_for", "last_rung")}
    for name in SWITCHES:
        if (value := form.get(name)) is not None:
            if value not in _SWITCHED:
                raise InputRefused(f"{name}: must be yes or no, not {value!r}")
            options[name] = _SWITCHED[value]
    await caller.asend(strategy(form.name, options))


async def _drain_worker(caller: AuthorizedClient, form: Form) -> str:
    """Drain a worker; return the page on which the user did."""
    try:
        worker = UUID(form.path["worker"])
    except ValueError:
        raise NotFound(f"there is no worker {form.path['worker']!r}") from None
    await caller.asend(worker_calls.drain(worker, form.reason))
    return "/fleet" if form.get("to") == "fleet" else "/workers"


async def _revoke_token(caller: AuthorizedClient, form: Form) -> None:
    text = form.path["token"]
    if (token := whole_number(text)) is None:
        raise NotFound(f"there is no token {text[:20]!r}")
    await caller.asend(control_calls.revoke_token(token, reason=form.reason))


async def _redeliver(caller: AuthorizedClient, form: Form) -> str:
    """Deliver one delivery again, or all that failed; return the page of the webhook."""
    await caller.asend(webhook_calls.redeliver(form.name, _number("delivery", form)))
    return f"/webhooks/{form.name}"


async def _drop_tenant(caller: AuthorizedClient, form: Form) -> None:
    tenant = Tenant(form.name)
    if tenant == DEFAULT:
        raise InputRefused("the default tenant cannot be dropped: all others depend on it")
    if form.get("typed", "").strip() != tenant.name:
        raise InputRefused(f"not dropped: type its name, {tenant.name}, to confirm")
    force = "force" in form
    await asyncio.to_thread(lambda: caller.drop_tenant(tenant, force=force))


def _number(name: str, form: Form) -> int | None:
    text = form.get(name, "").strip()
    if text and whole_number(text) is None:
        raise InputRefused(f"{name}: it takes a whole number, not {text!r}")
    return whole_number(text)


async def _set_limit(caller: AuthorizedClient, form: Form) -> None:
    await caller.asend(
        control_calls.set_limit(
            form.name,
            read_rates(form.names("rates")),
            at_once=_number("at_once", form),
        )
    )


async def _close_limit(caller: AuthorizedClient, form: Form) -> None:
    duration = read_duration("for", form.get("for"))
    await caller.asend(control_calls.close_limit(form.name, duration=duration, reason=form.reason))


_ALL = (
    FormAction("/bulk", start_bulk, then=lambda bulk: f"/bulk/{bulk.id}"),
    FormAction("/bulk/{bulk}/carry-on", carry_on_bulk, then=lambda bulk: f"/bulk/{bulk.id}"),
    FormAction(
        "/cancellations/{cancellation}/rollback",
        _send(lambda form: control_calls.rollback(form.path["cancellation"], reason=form.reason)),
        "Roll back",
        "A separate job undoes what the completed children have done.",
        then=lambda made: f"/jobs/{made['job']}",
    ),
    *_pausing("queue"),
    *_pausing("target"),
    *_pausing(
        "pool",
        "No job that needs one of its slots starts until it is resumed.",
        "Jobs that need its slots start again.",
    ),
    FormAction(
        "/targets/clear",
        _send(lambda form: control_calls.clear(target=form.name, reason=form.reason)),
        "Clear",
        "Its failed jobs become cancelled and no longer block it. Resume or cancel a paused job "
        "on its own page.",
        is_grave=True,
    ),
    FormAction(
        "/workers/{worker}/drain",
        _drain_worker,
        "Drain",
        "It finishes its running jobs, claims no more, and exits.",
        then=str,
    ),
    FormAction(
        "/pools",
        _send(lambda form: control_calls.create_pool(form.name, form.names("slots"))),
    ),
    FormAction(
        "/pools/slots",
        _send(
            lambda form: control_calls.change_slots(
                form.name, add=form.names("add"), remove=form.names("remove")
            )
        ),
    ),
    FormAction(
        "/pools/release",
        _send(
            lambda form: control_calls.release_slot(
                form.name, form.required("slot"), reason=form.reason
            )
        ),
        "Release",
        "The slot becomes free, unless its job is running.",
    ),
    FormAction("/limits", _set_limit),
    FormAction(
        "/limits/close",
        _close_limit,
        "Close",
        "The jobs and calls that it limits wait until it is opened. Running jobs continue.",
    ),
    FormAction(
        "/limits/open",
        _send(lambda form: control_calls.open_limit(form.name, reason=form.reason)),
        "Open",
        "The jobs and calls that it limits start again.",
    ),
    FormAction(
        "/limits/drop",
        _send(lambda form: control_calls.drop_limit(form.name)),
        "Delete",
        "Jobs that wait for it may start.",
        asks_reason=False,
        is_grave=True,
    ),
    FormAction("/policies", _set_policy),
    FormAction("/policies/switch", _switch_policy, asks_reason=False),
    FormAction(
        "/policies/drop",
        _send(lambda form: policy_calls.drop_policy(form.name)),
        "Drop",
        "Jobs that it has stopped stay stopped.",
        asks_reason=False,
        is_grave=True,
    ),
    FormAction("/strategies", _set_strategy),
    FormAction(
        "/strategies/drop",
        _send(lambda form: control_calls.drop_strategy(form.name)),
        "Drop",
        "It can no longer be used. Stops that used it do not change.",
        asks_reason=False,
        is_grave=True,
    ),
    FormAction(
        "/tokens/{token}/revoke",
        _revoke_token,
        "Revoke",
        "It stops working within a second.",
        is_grave=True,
    ),
    FormAction(
        "/webhooks/test",
        _send(lambda form: webhook_calls.test_webhook(form.name)),
        "Send test",
        "A worker sends the event webhook.test at once.",
        asks_reason=False,
        then=lambda delivery: f"/webhooks/{delivery.webhook}",
    ),
    FormAction(
        "/webhooks/redeliver",
        _redeliver,
        "Deliver again",
        "What is sent again keeps its webhook-id, so the receiver can recognise it.",
        asks_reason=False,
        then=str,
    ),
    FormAction(
        "/webhooks/drop",
        _send(lambda form: webhook_calls.drop_webhook(form.name)),
        "Delete",
        "Its deliveries are deleted too. What is still to be delivered never will be.",
        asks_reason=False,
        is_grave=True,
    ),
    FormAction(
        "/tenants",
        lambda caller, form: asyncio.to_thread(caller.create_tenant, Tenant(form.name)),
    ),
    FormAction(
        "/tenants/drop",
        _drop_tenant,
        "Drop",
        "All its jobs, records and tokens are deleted permanently.",
        asks_reason=False,
        is_grave=True,
    ),
    *_pausing("tenant"),
    *_pausing(
        "schedule",
        "It enqueues no jobs until it is resumed. Jobs that it has enqueued continue.",
        "It enqueues jobs at its next time. Times that it missed are not made up for.",
    ),
    FormAction(
        "/schedules/run",
        run_now,
        "Run now",
        "A job of this schedule is enqueued at once, in addition to its scheduled ones.",
        asks_reason=False,
        then=lambda job: f"/jobs/{job}",
    ),
)
FORMS = {action.path: action for action in _ALL}
provide(forms=FORMS)
