"""The planner's own table: finished plans."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0001", None


def upgrade() -> None:
    op.create_table(
        "plan",
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("job_id", sa.BigInteger, nullable=False, unique=True),
        sa.Column("unfairness", sa.Integer, nullable=False),
        sa.Column("shifts", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("plan")
