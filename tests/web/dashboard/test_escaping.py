"""Whatever somebody writes anywhere is shown, and does nothing."""

from datetime import timedelta
from os import urandom
from urllib.parse import quote
from uuid import uuid4

import msgspec

from tenure.control.client import Client
from tenure.control.schedule import Schedule
from tenure.control.tokens import make_token
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT
from tenure.store.calls import control_calls
from tenure.store.outcomes import Artifact, LogLine, Report
from tenure.store.store import Store
from tenure.web import create_app
from tenure.web.dashboard.job_tabs import TABS
from tests.factories import Worker, announcement, make_worker, promote
from tests.web.dashboard.visitor import Visitor, tags, texts
from tests.web.http_client import Http, asking

_RUN = "alert(1)"
SCRIPTS = [
    f"<script>{_RUN}</script>",
    f"<ScRiPt >{_RUN}</sCrIpT>",
    f"<script src=//evil.example></script>{_RUN}",
    f"</script><script>{_RUN}</script>",
    f"--><script>{_RUN}</script>",
    f"]]><script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"</textarea><script>{_RUN}</script>",
    f"</pre><script>{_RUN}</script>",
    f"</style><script>{_RUN}</script>",
    f"<<script>{_RUN}//<</script>",
    f"<scr<script>ipt>{_RUN}</scr</script>ipt>",
    f'"><script>{_RUN}</script>',
    f"'><script>{_RUN}</script>",
    f"`><script>{_RUN}</script>",
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"&#60;script&#62;{_RUN}&#60;/script&#62;",
    f"\\u003cscript\\u003e{_RUN}",
    f"{{{{ ''.__class__ }}}}<script>{_RUN}</script>",
    f"{{% raw %}}<script>{_RUN}</script>",
]
TAGS = [
    f"<img src=x onerror={_RUN}>",
    f"<img/src=x/onerror={_RUN}>",
    f"<IMG SRC=javascript:{_RUN}>",
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<body onload={_RUN}>",
    f"<iframe src=javascript:{_RUN}></iframe>",
    f"<iframe srcdoc='<script>{_RUN}</script>'>",
    f"<object data=javascript:{_RUN}>",
    f"<embed src=javascript:{_RUN}>",
    f"<a href=javascript:{_RUN}>x</a>",
    f"<a href='java\tscript:{_RUN}'>x</a>",
    f"<form action=javascript:{_RUN}><button>x</button></form>",
    f"<button formaction=javascript:{_RUN}>x</button>",
    f"<input autofocus onfocus={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<audio src=x onerror={_RUN}>",
    f"<marquee onstart={_RUN}>",
    f"<math><mi xlink:href=javascript:{_RUN}>x</mi></math>",
    f"<style>@import 'javascript:{_RUN}';</style>",
    f"<link rel=stylesheet href=javascript:{_RUN}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{_RUN}'>",
    "<base href=//evil.example/>",
    f"<template><script>{_RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'>",
    "<!--[if gte IE 4]><script>x</script><![endif]-->",
]
ATTRIBUTES = [
    f'" onmouseover="{_RUN}',
    f"' onmouseover='{_RUN}",
    f'" autofocus onfocus={_RUN} x="',
    f'x" style="background:url(javascript:{_RUN})',
    f"javascript:{_RUN}",
    f"data:text/html,<script>{_RUN}</script>",
    f"x' autofocus onfocus={_RUN} '",
    '"/><b>',
    "</li></ol></main><main data-live='//evil.example'>",
    '" data-live="//evil.example',
    f"\u2028<script>{_RUN}</script>\u2029",
    f"\u202e<script>{_RUN}</script>",
]
STRINGS = [*SCRIPTS, *TAGS, *ATTRIBUTES]
LATER = timedelta(hours=1)
MOST = 190  # characters in a name of anything


def together(strings: list[str]) -> list[str]:
    """Several of them in one text, so that fewer pages have to be looked at."""
    joined = [""]
    for text in strings:
        if len(joined[-1]) + len(text) >= MOST:
            joined.append("")
        joined[-1] = f"{joined[-1]} {text}" if joined[-1] else text
    return joined


TEXTS = together(STRINGS)
EVIL = {"object", "embed", "iframe", "base", "style", "img", "video", "audio", "math", "marquee"}


def test_there_are_sixty_of_them() -> None:
    assert len(set(STRINGS)) == 60
    whole = " ".join(TEXTS)
    assert all(text in whole for text in STRINGS)


def test_nothing_that_somebody_writes_is_live(store: Store, root: Visitor) -> None:
    worker = make_worker(store, timedelta(hours=1))
    plain = [tags_of(root.sees(path)) for path in filled(store, worker, "plain")]
    for text in TEXTS:
        for path, as_plain in zip(filled(store, worker, text), plain, strict=True):
            page = root.sees(path)
            assert tags_of(page) == as_plain, (path, text)
            shown = "".join(texts(page))
            assert text in shown or named(text) in shown, "it is shown as it was written"
    for path in ("/", "/jobs", "/cancellations", "/queues", "/targets", "/pools", "/bulks"):
        tags_of(root.sees(path))
    for path in ("/policies", "/strategies", "/tokens", "/workers"):
        page = root.sees(path)
        tags_of(page)
        shown = "".join(texts(page))
        for text in TEXTS:
            assert named(text) in shown, (path, text)
    for below in range(1, 1000, 50):
        tags_of(root.sees(f"/audit?below={below}"))


def test_nothing_that_is_asked_for_is_live(root: Visitor) -> None:
    for text in TEXTS:
        written = quote(text, safe="")
        page = root.sees(f"/jobs?queue={written}&text={written}&since=2030-01-01")
        tags_of(page)
        assert [told["value"] for _, told in tags(page) if told.get("name") == "queue"] == [
            text.strip()
        ]
        for path in (
            *(f"/jobs/{written}", f"/jobs?status={written}", f"/bulk?tag={written}"),
            *(f"/jobs?q={written}", f"/tasks?order={written}", f"/tasks/{written}"),
            f"/jump?q={written}",
        ):
            answer = root.see(path)
            assert answer.status_code in (200, 303, 401, 404, 422), (
                path
            )  # with a slash it is no page
            tags_of(answer.text)


def test_nothing_in_the_lists_of_the_console_is_live(client: Client, store: Store) -> None:
    with asking(create_app(client)) as http:
        root = Visitor(http, make_token(client, "root", Role.ADMIN)[0])
        plain = [tags_of(root.sees(path)) for path in crowded(client, "plain")]
        for text in TEXTS:
            for path, as_plain in zip(crowded(client, text), plain, strict=True):
                page = root.sees(path)
                assert tags_of(page) == as_plain, (path, text)
                shown = "".join(texts(page))
                assert text in shown or named(text) in shown, (path, text)
        token = root.token
        for text in TEXTS:
            given = {"csrf": token, f"arg.{named(text)}": text, "key": text, "priority": text}
            answer = root.send(f"/tasks/{quote(named(text))}", given)
            assert answer.status_code == 422
            tags_of(answer.text)
            assert text.split()[0] in "".join(texts(answer.text))
        for path in (
            "/tasks",
            "/schedules",
            "/fleet",
            "/questions",
            "/leaks",
            "/stops",
            "/workers",
        ):
            page = root.sees(path)
            tags_of(page)
            shown = "".join(texts(page))
            assert [text for text in TEXTS if named(text) not in shown] == [], path
        tags_of(root.sees("/"))
        for path in ("/complete?word=task:", "/complete?word=tag:", "/jump/names?q=script"):
            answer = root.see(path)
            assert "script" in answer.text
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_nothing_that_is_to_come_after_the_login_is_live(http: Http) -> None:
    for text in TEXTS:
        tags_of(http.get(f"/login?next={quote(text, safe='')}").text)


# How many of these there are depends on when things happened, and on how many strategies exist.
DRAWN = frozenset({"rect", "path", "text", "title", "option"})


def tags_of(page: str) -> list[str]:
    """The tags of a page, of which none is live but ours."""
    seen = tags(page)
    for tag, told in seen:
        assert tag not in EVIL, tag
        assert not [name for name in told if name.startswith("on") or name == "style"], told
        for name in ("href", "src", "action", "data-live", "formaction"):
            value = told.get(name, "")
            assert value.startswith(("/", "#")) or value in ("", "data:,"), value
            assert not value.startswith("//"), value
    return [tag for tag, _ in seen if tag not in DRAWN]


def named(text: str) -> str:
    """As a name can be."""
    return text.replace("\t", " ")


def filled(store: Store, worker: Worker, text: str) -> list[str]:
    """Jobs and what is around them, with this text in every field; where they are shown."""
    name = named(text)
    pool = store.create_pool(name, [name])
    draft = NewJob(
        task=name,
        args={name: text},
        key=None,
        owner=name,
        tags=[name],
        queue=name,
        target=name,
        pools=[pool.name],
        max_attempts=1,
    )
    [stopped] = store.enqueue(draft)
    promote(store)
    [claimed] = worker.claim(1)
    store.report(
        worker.id,
        [
            Report(
                job=stopped.id,
                token=claimed.token,
                progress={"done": 1, "total": 2, "message": text},
                checkpoint={name: text},
                partials=[{name: text}],
                logs=[LogLine(text, "error")],
                artifacts=[Artifact(name.replace("/", "|"), f"file:///{name}", 1)],
            )
        ],
    )
    record = store.stop(stopped.id, reason=text, by=name)
    cleanup = {"failed": [name], "graceful_close_succeeded": [name], "force_closed": [name]}
    worker.finish(claimed, "stopped", rung=Rung.KILLED, heard=True, runner=name, cleanup=cleanup)
    store.promote()
    [failed] = store.enqueue(NewJob(task=name, max_attempts=1))
    promote(store)
    [again] = worker.claim(1)
    worker.finish(again, "failed", error={"type": name, "message": text, "traceback": text})
    store.pause_dispatch("queue", name, reason=text, by=name)
    store.pause_dispatch("pool", name, reason=text, by=name)
    store.set_policy(
        name,
        {"filter": {"queue": name}, "when": {"budget": {name: 0.5}}, "reason": text},
        by=name,
    )
    store.set_strategy(name, {"grace": 1}, by=name)
    store.register(uuid4(), name, 1, timedelta(hours=1), queues=[name])
    token = control_calls.create_token(name, Role.VIEWER, DEFAULT, urandom(32))
    store.revoke_token(store.send(token).id, reason=text, by=name)
    bulk = store.bulk_stop({"queue": name}, reason=text, by=name)
    [parent] = store.enqueue(NewJob(task=name, delay=LATER))
    store.enqueue(
        NewJob(
            task=name,
            parent=parent.id,
            args={name: text},
            key=f"{name[:100]}-{parent.id}",
            delay=LATER,
        )
    )
    [after] = store.enqueue(NewJob(task=name, after=[parent.id]))
    output = [f"tab={tab}" for tab in ("partials", "artifacts", "attempts", "audit", "raw")]
    artifact = quote(name.replace("/", "|"), safe="")
    asked = quote(text, safe="")
    return [
        *(f"/jobs/{stopped.id}?{query}" for query in output),
        f"/jobs/{stopped.id}?tab=artifacts&show={artifact}",
        f"/jobs/{stopped.id}?q={asked}",
        f"/jobs/{parent.id}",
        f"/jobs/{parent.id}?tab=children",
        f"/jobs/{after.id}",
        f"/jobs/{stopped.id}",
        f"/cancellations/{record.cancellation_id}",
        f"/jobs/{failed.id}",
        f"/bulk/{bulk.id}",
    ]


def crowded(client: Client, text: str) -> list[str]:
    """Fill the lists of the console with this text in every field; return pages about it."""
    store, name = client.store, named(text)
    worker = Worker(store, uuid4())
    store.register(worker.id, name, 1, timedelta(hours=1), queues=[name])
    field = {"description": text, "enum": [text], "default": text}
    schema = {"type": "object", "properties": {name: field}, "required": [name]}
    store.announce_tasks([announcement(name, doc=text, schema=schema)])
    job = NewJob(task=name, owner=name, queue=name, tags=[name], args={name: text}, max_attempts=1)
    due, queued = NewJob(task=name, queue=name, max_attempts=1), {"by": f"schedule:{name}"}
    client.schedules = {
        **client.schedules,
        name: Schedule(name, name, "0 3 * * *", "UTC", "skip", LATER, {name: text}, due, None),
    }
    for n in (1, 2):
        store.enqueue_reserved(due, idempotency=f"{name} {n}", **queued)
    [asked, failed, leaked, stopped] = (made.id for made in store.enqueue([job] * 4))
    promote(store)
    held = {claimed.id: claimed for claimed in worker.claim(6)}
    first, second = sorted(set(held) - {asked, failed, leaked, stopped})
    error = {"type": name, "message": text, "traceback": text}
    worker.finish(held[first], value={name: text})
    worker.finish(held[second], "failed", error=error)
    worker.finish(held[failed], "failed", error=error)
    left_open = {"failed": [{"name": name, "error": text}, text]}
    worker.finish(held[leaked], cleanup=left_open)
    told = Report(
        job=asked,
        token=held[asked].token,
        progress={"done": 1, "total": 2, "message": text},
        partials=[{name: text}],
        logs=[LogLine(text, "error")],
        artifacts=[Artifact(name.replace("/", "|"), f"file:///{name}", 1)],
    )
    store.report(worker.id, [told])
    question = {"text": text, "schema": schema, "role": None}
    wait = {"name": name, "kind": "question", "digest": "d", "within": None, "question": question}
    store.await_step(worker.id, asked, held[asked].token, wait)
    store.stop(stopped, reason=text, by=name)
    [child] = store.enqueue(
        msgspec.structs.replace(job, parent=asked, key=f"{name[:100]}-{asked}", delay=LATER)
    )
    store.stop(child.id, intent=Intent.PAUSE, reason=text, by=name)
    store.enqueue(msgspec.structs.replace(job, after=[failed], key=f"{name[:100]}-{failed}"))
    store.pause_dispatch("schedule", name, reason=text, by=name)
    return [
        f"/tasks/{quote(name)}",
        f"/jobs?tag={quote(name)}&open={asked}",
        *(f"/jobs/{asked}?tab={tab}" for tab in TABS),
        *(f"/jobs/{number}" for number in (asked, failed, leaked, stopped, child.id)),
    ]
