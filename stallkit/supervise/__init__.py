"""Many sessions watched at once: where looks come from, what they lead to, limits, recovery, and what is told."""
