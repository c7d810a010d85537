"""What a worker does periodically besides running jobs."""
