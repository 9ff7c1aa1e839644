"""What an agent's side needs, as files: `stallkit stuck install` writes them."""
