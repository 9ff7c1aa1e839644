"""What a terminal shows and takes, as values: text, screens, keys, and what a stream says of itself.  Pure."""
