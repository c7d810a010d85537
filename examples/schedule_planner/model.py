"""The planner's own view of its database: plans in a table of its own, jobs in Tenure's."""

from datetime import datetime
from enum import StrEnum
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql import ENUM


class JobStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Base(orm.DeclarativeBase): ...


class Plan(Base):
    """A finished plan; migrations/versions/0001_plans.py makes the table."""

    __tablename__ = "plan"

    id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, primary_key=True)
    job_id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, unique=True)
    unfairness: orm.Mapped[int]
    shifts: orm.Mapped[Any] = orm.mapped_column(sa.JSON)


class Job(Base):
    """A job as Tenure shows it. To mark an orphan as failed is a request: see ``fail_orphans``."""

    __tablename__ = "jobs"
    __table_args__ = {"schema": "tenure"}

    id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, primary_key=True)
    task: orm.Mapped[str]
    status: orm.Mapped[JobStatus] = orm.mapped_column(
        "state",
        ENUM(
            JobStatus,
            name="state",
            schema="tenure",
            create_type=False,  # it is Tenure's
            values_callable=list,
        ),
    )
    started_at: orm.Mapped[datetime | None] = orm.mapped_column(sa.DateTime(timezone=True))
    completed_at: orm.Mapped[datetime | None] = orm.mapped_column(sa.DateTime(timezone=True))
    last_heartbeat_at: orm.Mapped[datetime | None] = orm.mapped_column(sa.DateTime(timezone=True))
    error_message: orm.Mapped[str | None]


class Session(orm.Session):
    def exec(self, statement: sa.Select[Any]) -> sa.ScalarResult[Any]:
        return self.scalars(statement)


def session_on(url: str) -> Session:
    """Open a session on the database of an app: ``with session_on(app.url) as session:``."""
    return Session(engine_on(url))


def engine_on(url: str) -> sa.Engine:
    return sa.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=sa.NullPool
    )


@sa.event.listens_for(Session, "before_flush")
def fail_orphans(session: Session, *_: object) -> None:
    """Let Tenure fail the jobs that were marked as failed.

    Tenure checks again, under a lock, that the worker is gone: a job whose worker has sent a
    heartbeat in the meantime keeps running.
    """
    for job in [job for job in session.dirty if isinstance(job, Job)]:
        session.connection().execute(
            sa.text("SELECT tenure.recover(ids => ARRAY[:id]::bigint[], message => :message)"),
            {"id": job.id, "message": job.error_message},
        )
        session.expire(job)
