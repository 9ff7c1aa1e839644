"""The program that git, ssh and sudo call with a prompt, and that prints the answer."""
