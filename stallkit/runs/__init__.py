"""One command raced against its end, a needed key, a time-out and a window; its life in the background."""
