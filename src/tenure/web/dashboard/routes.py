"""Every path of the page."""

from starlette.routing import BaseRoute, Route

from tenure.web.dashboard import (
    bulk,
    cancellations,
    doing,
    job,
    jobs,
    live,
    login,
    overview,
    places,
    policies,
    records,
    static,
    strategies,
    tenants,
    tokens,
    workers,
)
from tenure.web.dashboard.places import Handler


def _get(path: str, handler: Handler) -> Route:
    return Route(path, handler, methods=["GET"])


def _post(path: str, handler: Handler) -> Route:
    return Route(path, handler, methods=["POST"])


ROUTES: list[BaseRoute] = [
    _get("/static/{name}", static.static),
    _get("/login", login.login_form),
    _post("/login", login.login),
    _post("/logout", login.logout),
    _get("/", overview.overview),
    _get("/live", live.everything),
    _get("/jobs", jobs.list_jobs),
    _get("/jobs/{job}", job.show_job),
    _get("/jobs/{job}/live", live.job),
    _get("/jobs/{job}/artifacts/{name:path}", job.artifact),
    *(_post(f"/jobs/{{job}}/{verb}", doing.doing(do)) for verb, do in doing.VERBS.items()),
    _get("/bulk", bulk.preview),
    _post("/bulk", bulk.start),
    _get("/bulks", bulk.list_bulks),
    _get("/bulk/{bulk}", bulk.show),
    _post("/bulk/{bulk}/carry-on", bulk.carry_on),
    _get("/cancellations", cancellations.list_cancellations),
    _get("/cancellations/{cancellation}", cancellations.show_cancellation),
    _get("/cancellations/{cancellation}/live", live.cancellation),
    _post("/cancellations/{cancellation}/rollback", cancellations.roll_back),
    _get("/queues", overview.list_queues),
    _post("/queues/pause", places.pausing("pause", "queue")),
    _post("/queues/resume", places.pausing("unpause", "queue")),
    _get("/targets", places.list_targets),
    _post("/targets/pause", places.pausing("pause", "target")),
    _post("/targets/resume", places.pausing("unpause", "target")),
    _post("/targets/clear", places.clear_target),
    _get("/workers", workers.list_workers),
    _post("/workers/{worker}/drain", workers.drain_worker),
    _get("/pools", places.list_pools),
    _post("/pools", places.create_pool),
    _post("/pools/pause", places.pausing("pause", "pool")),
    _post("/pools/resume", places.pausing("unpause", "pool")),
    _post("/pools/slots", places.change_slots),
    _post("/pools/release", places.release_slot),
    _get("/policies", policies.list_policies),
    _post("/policies", policies.set_policy),
    _post("/policies/switch", policies.switch_policy),
    _post("/policies/drop", policies.drop_policy),
    _get("/strategies", strategies.list_strategies),
    _post("/strategies", strategies.set_strategy),
    _post("/strategies/drop", strategies.drop_strategy),
    _get("/schedules", records.schedules),
    _get("/audit", records.audit),
    _get("/system", records.system),
    _get("/tokens", tokens.list_tokens),
    _post("/tokens", tokens.create_token),
    _post("/tokens/{token}/revoke", tokens.revoke_token),
    _get("/tenants", tenants.list_tenants),
    _post("/tenants", tenants.create_tenant),
    _post("/tenants/drop", tenants.drop_tenant),
    _post("/tenants/pause", tenants.pausing("pause")),
    _post("/tenants/resume", tenants.pausing("unpause")),
]
