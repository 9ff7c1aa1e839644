"""Examples of gates outside the sandbox, as files: `stallkit sandbox gate` prints them."""
