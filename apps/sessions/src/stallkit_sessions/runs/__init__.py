"""One command, awaited until it ends, needs a key, or a time limit is over; it may go on in the background."""
