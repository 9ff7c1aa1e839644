"""Coding agents that no pack names, driven in tmux into each of their states, each screen saved as a corpus case."""
