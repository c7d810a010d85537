"""Requests to webhooks: signed, and never into the own network."""
