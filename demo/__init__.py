"""A short show of what Tenure promises; every line of it is computed."""
