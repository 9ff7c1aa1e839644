"""What a screen is by its form, for stallkit: a guess, where no signature of its own program knows it."""
