"""Tools for people who work on Tenure."""
