"""Claims become a verdict: one table of rules, the first that fits decides.  Pure."""
