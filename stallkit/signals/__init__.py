"""What programs say of themselves, one module a source."""
