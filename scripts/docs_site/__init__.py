"""The documentation as a site: what it is made of, and how it is checked.  ``scripts/docs`` builds it."""
