"""The way to the database: the lease, exchanges, reports, and who uses which connection."""
