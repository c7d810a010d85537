"""REST and the page."""
