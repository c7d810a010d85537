"""The worker: its keeper, its guard and its runners."""
