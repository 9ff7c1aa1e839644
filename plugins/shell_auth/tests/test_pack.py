"""Nothing here is ever answered, secrets come first whatever else is installed, and no pattern runs away."""

import pytest

from stallkit import Engine, Pack, Screen, load_pack

PACK = load_pack("stallkit_shell_auth")
ENGINE = Engine([PACK])


def test_no_machine_answers_any_of_it() -> None:
    assert [one.id for one in PACK.signatures if one.dismissal is not None or one.severity != "high"] == []


@pytest.mark.parametrize(
    "text, kind",
    [
        ("[sudo] password for ada: ", "secret"),
        ("Enter passphrase (empty for no passphrase): ", "secret"),
        ("login: ", "login"),
        ("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", "confirm"),
        ("Type the passphrase and press Enter to continue: ", "secret"),
    ],
)
def test_it_comes_before_the_packs_beside_it(text: str, kind: str) -> None:
    packs = [*map(named, ("shell_yn", "shell_tools", "shell_auth"))]
    match = Engine(packs).detect(Screen.from_text(text)).match
    assert match is not None and (match.pack.name, match.signature.kind) == ("shell_auth", kind)


def named(name: str) -> Pack:
    """A pack as the registry gives it, with the name of its distribution, by which it is put in order."""
    pack = load_pack(f"stallkit_{name}")
    return Pack(name, signatures=pack.signatures, priority=pack.priority, distribution=f"stallkit-{name}")
