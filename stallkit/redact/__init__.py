"""Secrets out of text: what is one by its form or its label, and what stands in its place.  Pure."""
