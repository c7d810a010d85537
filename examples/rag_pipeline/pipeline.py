"""Crawl a site, split its pages, embed the chunks and upsert them: four tasks, one after the other.

Each task commits its work piece by piece and checks for a stop between two pieces, so the index is
consistent wherever the stop comes. A resumed job finds in the database what is already done.
"""

import asyncio
import os
from collections import deque

import httpx

from examples.rag_pipeline import index
from examples.rag_pipeline.embedding import model
from examples.rag_pipeline.job_manager import JobManager
from examples.rag_pipeline.job_repository import JobRepository
from examples.rag_pipeline.pages import Page, split
from tenure import Context, Retry
from tenure.resources import HTTPResourceManager

PRESETS = {
    "development": {"heartbeat_interval": 10, "lease_duration": 60},
    "production": {"heartbeat_interval": 30, "lease_duration": 300},
    "high-reliability": {"heartbeat_interval": 15, "lease_duration": 180},
}
job_manager = JobManager(**PRESETS[os.environ.get("RAG_PRESET", "production")])
app = job_manager.app
repo = JobRepository(app)

BATCH = 4  # chunks embedded and staged together


@app.task(retry=Retry(max=3), ask_for="5s", last_rung="interrupted")
async def crawl(ctx: Context, site: str, most: int = 100, pause: float = 0.0) -> int:
    """Fetch the pages of a site, with a pause of this many seconds after each."""
    http = ctx.resources.add(HTTPResourceManager(httpx.AsyncClient(timeout=30)))
    waiting = deque(ctx.checkpoint.get("waiting", [site]))
    seen = set(ctx.checkpoint.get("seen", [site]))
    done: int = ctx.checkpoint.get("done", 0)
    with index.connect(app.url) as database:
        while waiting and done < most:
            ctx.raise_if_cancelled()
            answer = await http.get(waiting[0])
            page = Page(waiting.popleft(), answer.raise_for_status().text)
            with database.transaction():
                index.keep_page(database, page.url, page.title, f"{page.title}. {page.body}")
            waiting.extend(new := [link for link in dict.fromkeys(page.links) if link not in seen])
            seen.update(new)
            done += 1
            ctx.save_checkpoint(waiting=list(waiting), seen=sorted(seen), done=done)
            ctx.progress(done, done + len(waiting), page.title)
            await asyncio.sleep(pause)
    return done


@app.task(ask_for="5s", last_rung="interrupted")
def chunk(ctx: Context, site: str) -> int:
    with index.connect(app.url) as database:
        pages = database.execute(
            "SELECT url, body FROM rag.page WHERE starts_with(url, %s) AND url > %s ORDER BY url",
            (site, ctx.checkpoint.get("last", "")),
        ).fetchall()
        database.commit()
        for url, body in ctx.track(pages):
            index.keep_chunks(database, url, list(split(body)))
            ctx.save_checkpoint(last=url)
        [count] = database.execute("SELECT count(*) FROM rag.chunk").fetchone() or (0,)
    return int(count)


@app.task(ask_for="5s", last_rung="interrupted")
def embed(ctx: Context) -> int:
    embedded = ctx.checkpoint.get("embedded", 0)
    with index.connect(app.url) as database:
        while batch := index.unembedded(database, BATCH):
            ctx.raise_if_cancelled()
            digests, bodies = zip(*batch, strict=True)
            index.stage(database, digests, model().embed(bodies))
            database.commit()
            embedded += len(batch)
            ctx.save_checkpoint(embedded=embedded)
            ctx.progress(embedded)
    return int(embedded)


@app.task(ask_for="5s", last_rung="interrupted")
def upsert(ctx: Context) -> int:
    ctx.raise_if_cancelled()
    with index.connect(app.url) as database:
        return index.upsert(database)


@app.task(target="index")
async def build(ctx: Context, site: str, most: int = 100, pause: float = 0.0) -> dict[str, int]:
    """Run the whole pipeline. It holds no slot while its tasks run; stopping it stops them."""
    crawled = await ctx.aspawn(crawl, site, most, pause)
    chunked = await ctx.aspawn(chunk.using(after=crawled), site)
    embedded = await ctx.aspawn(embed.using(after=chunked))
    upserted = await ctx.aspawn(upsert.using(after=embedded))
    counts = await ctx.await_for([crawled, chunked, embedded, upserted])
    return dict(zip(["pages", "chunks", "embedded", "upserted"], counts, strict=True))


def search(question: str, n: int = 3) -> list[str]:
    """Return the pages nearest to a question."""
    with index.connect(app.url) as database:
        return index.nearest(database, model().embed([question])[0], n)
