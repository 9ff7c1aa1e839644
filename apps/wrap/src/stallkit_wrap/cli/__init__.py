"""The commands of stallkit-wrap."""
