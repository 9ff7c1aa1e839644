"""Values and pure functions: no files, no clock, no processes (see docs/architecture.md)."""
