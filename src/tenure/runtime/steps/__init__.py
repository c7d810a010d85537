"""Steps of a job: what its code does once, and what it waits for without holding a worker."""
