"""What programs publish of themselves outside their terminal: one module a source.  Floor 1, beside probes."""
