"""Facts on a session from the kernel and its terminal, each of which may be unknown."""
