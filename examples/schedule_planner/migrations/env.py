"""Alembic's environment: one connection, one transaction."""

from alembic import context
from sqlalchemy import create_engine, pool

url = context.config.attributes["url"]
with create_engine(url, poolclass=pool.NullPool).connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
