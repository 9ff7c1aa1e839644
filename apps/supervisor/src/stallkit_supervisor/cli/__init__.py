"""The commands of the supervisor."""
