"""A short demonstration of Tenure's promises; every line is computed from a real run."""
