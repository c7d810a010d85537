"""Tenure's schema inside your own Alembic history.

    from alembic import op
    from tenure.contrib import alembic as tenure

    def upgrade() -> None:
        tenure.upgrade(op)

    def downgrade() -> None:
        tenure.downgrade(op)

When a new version of Tenure asks for ``tenure migrate``, write another revision with the same
``upgrade``; it does only what is left to do. Its ``downgrade`` stays empty: there is no way back to
an older Tenure that keeps the jobs.
"""

from typing import Any

from tenure.domain.tenant import DEFAULT, Tenant
from tenure.store import schema
from tenure.store.driver_errors import find_tenure_error


def upgrade(op: Any, tenant: str = DEFAULT.name) -> None:
    """Migrate the tenant to this version, in the transaction of the revision."""
    _execute(op, schema.script(Tenant(tenant)))


def downgrade(op: Any, tenant: str = DEFAULT.name) -> None:
    """Delete the tenant with all its jobs."""
    _execute(op, schema.drop_script(Tenant(tenant)))


def _execute(op: Any, statement: str) -> None:
    from sqlalchemy import DDL

    # As text() its colons would be taken for parameters.
    ddl = DDL(statement.replace("%", "%%"))  # type: ignore[no-untyped-call]
    try:
        op.execute(ddl)
    except Exception as error:
        if cause := find_tenure_error(error):
            raise cause from error
        raise
