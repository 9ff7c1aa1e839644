"""What an agent's side needs, as files: `stallkit sandbox install` writes them."""
