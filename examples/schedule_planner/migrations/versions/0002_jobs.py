"""Tenure's tables and verbs, in the same history."""

from alembic import op

from tenure.contrib import alembic as tenure

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    tenure.upgrade(op)


def downgrade() -> None:
    tenure.downgrade(op)
