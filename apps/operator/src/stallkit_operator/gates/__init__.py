"""Examples of gates outside the sandbox, as files: `stallkit stuck gate` prints them."""
