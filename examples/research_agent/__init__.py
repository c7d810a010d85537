"""An agent that plans, reads, writes, asks a person, and publishes."""
