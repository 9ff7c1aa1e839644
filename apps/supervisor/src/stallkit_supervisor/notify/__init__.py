"""How stallkit tells people: at places of their choice, each with its own queue and limits."""
