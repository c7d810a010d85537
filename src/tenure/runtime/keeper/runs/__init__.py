"""The runs a worker holds, the runners that execute them, and how attempts end."""
