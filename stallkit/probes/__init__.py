"""What the kernel, the terminal and the program itself say of a session: facts, each of which may be unknown."""
