"""What happens inside a worker."""
