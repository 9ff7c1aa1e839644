"""Programs that sit in somebody's terminal: the relay of `stallkit wrap`, and the askpass program."""
