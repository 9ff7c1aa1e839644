"""Many sessions watched at once: looks and their sources, decisions, limits, recovery, events."""
