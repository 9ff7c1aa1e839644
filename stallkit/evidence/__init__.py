"""What the sources around a screen claim of a session, each from its own evidence alone.  Pure."""
