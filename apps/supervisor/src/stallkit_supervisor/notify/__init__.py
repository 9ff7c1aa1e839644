"""How people are told: places of their choice, each with its own queue and limits."""
