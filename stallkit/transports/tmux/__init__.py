"""What speaks tmux: one pane, a fleet of them, and how they end."""
