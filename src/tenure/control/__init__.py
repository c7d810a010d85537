"""What one does to jobs."""
