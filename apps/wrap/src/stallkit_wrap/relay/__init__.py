"""``stallkit wrap``: a relay between a program and the user's own terminal, which hears what the program reports."""
