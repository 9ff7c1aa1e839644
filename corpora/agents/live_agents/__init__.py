"""Live agents under a supervisor: what they were driven into, and whether a person was told of it in time."""
