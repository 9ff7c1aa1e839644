"""Prompts, dialogs and states of Claude Code, for stallkit."""

from stallkit import Pack, hookimpl, load_pack


@hookimpl
def stallkit_packs() -> list[Pack]:
    """The pack, read from ``signatures.toml`` beside this file."""
    return [load_pack(__name__)]
