"""Programs over time: recorded with what was true, replayed, redacted cell by cell."""
