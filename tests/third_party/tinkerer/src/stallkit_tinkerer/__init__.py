"""What stallkit knows of tinkerer: its screens, its turns and how its sessions go on."""

from stallkit import Pack, hookimpl, load_pack


@hookimpl
def stallkit_packs() -> list[Pack]:
    """The pack, read from ``signatures.toml`` and ``agent.toml`` beside this file."""
    return [load_pack(__name__)]
