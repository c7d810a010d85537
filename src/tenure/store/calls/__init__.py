"""Every verb as a function that makes its call, named like the SQL function."""
