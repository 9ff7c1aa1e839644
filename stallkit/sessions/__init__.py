"""Sessions that stallkit started: how they are named and run, and how each of them ended."""
