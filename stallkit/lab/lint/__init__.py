"""What is wrong with a pack, said before anybody is hurt by it: coded findings, each with a page in docs/lint."""
