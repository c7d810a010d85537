"""Resources that a job holds, and that are closed when it ends."""
