"""Tenure beside other libraries."""
