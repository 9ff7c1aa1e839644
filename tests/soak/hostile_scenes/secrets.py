"""A secret is asked for, in whatever mode of the terminal: a key would end it, or be a part of it."""

from __future__ import annotations

from typing import Iterator

from soak.hostile_scenes.losses import ANY_KEY, ENTER
from soak.hostile_scenes.scene import Scene, bash, played

__all__ = ["FAMILIES"]

# Each with how the terminal is set: raw and without echo, as programs do that draw bullets, or a line that is hidden.
ASKED = {
    "raw, a passphrase and Enter": ("raw", f"Enter passphrase for key '/home/dev/.ssh/id_ed25519'\n\n{ENTER}"),
    "raw, a passphrase to be typed first": ("raw", f"Type your passphrase, then\n{ENTER}"),
    "raw, bullets above a key": ("raw", f"Passphrase: ••••••••\n{ENTER}"),
    "raw, a master password": ("raw", f"Master password\n────────────────\n{ENTER}"),
    "raw, a PIN": ("raw", f"PIN of the card, then\n{ENTER}"),
    "raw, a code from a phone": ("raw", f"One-time code from your phone:\n\n{ENTER}"),
    "raw, recovery words": ("raw", f"Type the 24 recovery words.\n\n{ENTER}"),
    "raw, in German": ("raw", f"Kennwort eingeben\n\n{ENTER}"),
    "raw, in French": ("raw", f"Mot de passe du coffre\n\n{ENTER}"),
    "raw, in Russian": ("raw", f"Введите пароль\n\n{ENTER}"),
    "raw, in Japanese": ("raw", f"パスワードを入力してください\n\n{ENTER}"),
    "raw, in Chinese": ("raw", "请输入密码\n\n请按任意键继续"),
    "single keys, a passphrase": ("cbreak", f"Enter your passphrase\n\n{ENTER}"),
    "single keys, a question in front": ("cbreak", "Unlock the vault with the passphrase? [y/N] "),
    "raw, a token": ("raw", f"Paste your API token here\n\n{ENTER}"),
    "raw, words of another title": ("raw", f"\033]2;pinentry: passphrase\a{ANY_KEY}\n\nPassphrase: "),
    "hidden line, a key": ("hidden", ANY_KEY),
    "hidden line, Enter": ("hidden", ENTER),
    "hidden line, a question": ("hidden", "Proceed? [y/N] "),
    "hidden line, a plain dialog": ("hidden", "Switch to compact mode?\n❯ Yes\n  No\n"),
}


def _secrets() -> Iterator[Scene]:
    for name, (mode, text) in ASKED.items():
        yield played(name, {"text": text, "mode": mode}, program="vault")
    for asks in (ANY_KEY, ENTER.strip(), "Proceed? [y/N]"):
        yield bash(
            f"bash reads a secret below {asks!r}", f"echo '{asks}'; read -rsp '{asks} ' x", asks[:16], reads=True
        )
    hidden = {"text": ENTER, "mode": "hidden"}
    yield played("echo goes while it waits", {"text": ENTER, "mode": "line", "next": hidden}, shows="ENTER to")


FAMILIES = {"secrets": list(_secrets())}
