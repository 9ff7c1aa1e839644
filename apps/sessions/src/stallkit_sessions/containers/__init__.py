"""Docker, podman and bubblewrap: containers and sandboxes over the user's own commands."""
