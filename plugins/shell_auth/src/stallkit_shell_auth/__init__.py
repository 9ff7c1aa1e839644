"""Passwords, passphrases, tokens, logins and host keys, for stallkit."""

from stallkit import Pack, hookimpl, load_pack


@hookimpl
def stallkit_packs() -> list[Pack]:
    """The pack, read from ``signatures.toml`` beside this file."""
    return [load_pack(__name__)]
