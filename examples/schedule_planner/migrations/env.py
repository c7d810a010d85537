"""Alembic's environment: the planner's database, one connection, one transaction."""

from alembic import context
from examples.schedule_planner.model import engine_on
from examples.schedule_planner.planner import app

with app, engine_on(app.url).connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
