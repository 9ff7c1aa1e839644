"""What no machine answers, what it answers with, and no pattern that runs away; the examples are items of their own."""

import pytest

from stallkit import Engine, Screen, load_pack
from stallkit.terminal.text import cells

ENGINE = Engine([load_pack("stallkit_shell_tools")])


@pytest.mark.parametrize(
    "text",
    [
        "Press Enter to reboot",
        "1) wipe\n2) keep\n#? ",
        "--More--",
        "> ",
        ">>> ",
        "│ Restart services?  │\n│ < Yes >   < No >   │\n└────────────────────┘",
    ],
)
def test_no_machine_answers_it(text: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is not None
    assert match.signature.dismissal is None, match.signature.id


@pytest.mark.parametrize(
    "text, keys", [("Press ENTER to continue", "Enter"), ("Press any key to continue . . .", "Space")]
)
def test_keys(text: str, keys: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is not None and match.signature.dismissal is not None
    assert str(match.signature.dismissal.keys) == keys


@pytest.mark.parametrize("text", ["Overwrite? (y/n)\n> ", "n/s/q> ", "(y/n) ", "Type yes to go on\n>>> "])
def test_an_interpreter_is_told_from_a_choice(text: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is None, match.signature.id


PRESS = """
Press any key to go on
Strike a key when ready . . .
Bitte Eingabetaste drücken
Weiter mit beliebiger Taste
Appuyez sur Entrée pour continuer
Pulse Intro para continuar
Premere un tasto per continuare . . .
Premi Invio per continuare
Druk op een toets om door te gaan. . .
Naciśnij dowolny klawisz, aby kontynuować . . .
Для продолжения нажмите любую клавишу . . .
Stiskněte libovolnou klávesu...
Tryck på valfri tangent för att fortsätta . . .
Trykk en tast for å fortsette . . .
Jatka painamalla mitä tahansa näppäintä . . .
Devam etmek için bir tuşa basın . . .
按回车键继续
続行するには何かキーを押してください . . .
계속하려면 아무 키나 누르십시오 . . .
"""
LEAVE = [
    "Cancel",
    "Abbrechen",
    "Annuler",
    "Cancelar",
    "Annulla",
    "Annuleren",
    "Anuluj",
    "Отмена",
    "Zrušit",
    "Avbryt",
    "取消",
    "キャンセル",
    "취소",
]
ANSWERS = [
    "Yes/No",
    "Ja/Nein",
    "Oui/Non",
    "Sí/No",
    "Sì/No",
    "Ja/Nee",
    "Tak/Nie",
    "Да/Нет",
    "Ano/Ne",
    "Ja/Nej",
    "是/否",
    "はい/いいえ",
    "예/아니요",
]


def kind(text: str) -> str:
    match = Engine.default().detect(Screen.from_text(text)).match
    return "nothing" if match is None else str(match.signature.kind)


def box(*rows: str) -> str:
    return "\n".join(
        ["┌" + "─" * 40 + "┐", *[f"│{row}{' ' * (40 - cells(row))}│" for row in rows], "└" + "─" * 40 + "┘"]
    )


def test_keys_and_buttons_in_other_languages() -> None:
    found = {text: (kind(f"Done.\n{text} "), "press_key") for text in PRESS.split("\n") if text}
    for leave in LEAVE:
        found[f"a list, {leave}"] = kind(box(" 1 Asia", " 2 Europe", f" <OK>  <{leave}>")), "select"
        found[f"a field, {leave}"] = kind(box(" Host name", f" {'_' * 20}", f" <OK>  <{leave}>")), "text"
        found[f"a secret, {leave}"] = kind(box(f" Passphrase: {'_' * 20}", f" <OK>  <{leave}>")), "secret"
    for answer in ANSWERS:
        yes, no = answer.split("/")
        found[answer] = kind(box(" Restart the services now?", f" <{yes}>  <{no}>")), "confirm"
    wrong = {text: one for text, (one, wanted) in found.items() if one != wanted}
    assert not wrong
