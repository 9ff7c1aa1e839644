"""The commands on sessions that stallkit starts."""
