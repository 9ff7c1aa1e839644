"""The commands of the fleet."""
