"""Hostile code and ordinary libraries' habits, as data; `tests.hostile` says how to add a kind."""
