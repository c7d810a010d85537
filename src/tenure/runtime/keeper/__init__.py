"""The keeper: claims jobs, renews the lease, stops and records. It never imports user code."""
