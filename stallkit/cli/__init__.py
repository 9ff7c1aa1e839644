"""The command line: one file per group of verbs.  It prints and sets exit codes, and does nothing else."""
