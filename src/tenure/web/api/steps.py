"""Steps of jobs, their questions, and events for jobs that wait for them."""

from typing import Any

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.questions import answer, publish
from tenure.domain.step import Answered, Question, StepRecord
from tenure.store.calls import queries, step_calls
from tenure.web.context import Above, Limit
from tenure.web.models import AnswerBody, EventBody, PublishedEvent
from tenure.web.routes import JobNumber, Routes

routes = Routes("steps and questions")


@routes.get("/api/jobs/{job_id}/steps", returns=tuple[StepRecord, ...])
async def list_steps(
    caller: AuthorizedClient, job_id: JobNumber, above: Above = 0, limit: Limit = 1000
) -> Any:
    """List the steps of a job, and what it waited for, in the order in which they ended."""
    found = await caller.asend(step_calls.steps(job_id, above=above, n=limit))
    if not found:
        await caller.asend(queries.show(job_id))
    return found


@routes.get("/api/questions", returns=tuple[Question, ...])
async def list_questions(caller: AuthorizedClient, limit: Limit = 100) -> Any:
    """List the open questions of all jobs, oldest first."""
    return await caller.asend(step_calls.questions(n=limit))


@routes.get("/api/jobs/{job_id}/questions", returns=tuple[Question, ...])
async def list_questions_of_job(caller: AuthorizedClient, job_id: JobNumber) -> Any:
    """List the open questions of a job."""
    return await caller.asend(step_calls.questions(job_id))


@routes.post("/api/jobs/{job_id}/answer", errors=(409,))
async def answer_question(
    caller: AuthorizedClient, job_id: JobNumber, body: AnswerBody
) -> Answered:
    """Answer a question of a job; it takes one answer, before its time is over."""
    return await caller.aperform(answer(job_id, body.value, body.question))


@routes.post("/api/published", status=201, returns=PublishedEvent)
async def publish_event(caller: AuthorizedClient, body: EventBody) -> Any:
    """Publish an event: every job that waits for its name and key gets it."""
    made = publish(body.name, body.key, body.payload, keep=body.keep)
    return PublishedEvent(await caller.aperform(made))
