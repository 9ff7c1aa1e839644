"""How stallkit gets at a session: one small protocol (`base.Transport`) and its implementations."""
