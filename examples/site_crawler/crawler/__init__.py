"""A crawler of paginated sites that cleans up when it is cancelled."""
