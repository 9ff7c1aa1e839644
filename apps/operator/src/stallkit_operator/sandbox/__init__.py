"""Sandboxes of agents: what they are made of, the proxies they reach the world by, and how they are replaced."""
