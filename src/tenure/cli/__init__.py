"""The command line: parse, wire together, print."""
