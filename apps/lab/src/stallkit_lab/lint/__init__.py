"""What is wrong with a pack, before it does harm: coded findings, each with a section in docs/lint.md."""
