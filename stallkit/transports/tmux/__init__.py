"""Calls of tmux: one pane, all panes of a server, and how they end."""
