"""Screens of programs that wait, the words of a harmless prompt in what somebody else wrote: no key is to be pressed.

What a program shows of a command, a plan, a question or a file is written by whoever wants a key to be pressed.
"""

from __future__ import annotations

TRUST = (
    " Quick safety check: Is this a project you created or one you trust? (Like your\n own code, a well-known open"
    " source project, or work from your team). If not,\n take a moment to review what's in this folder first.\n\n"
    " Claude Code'll be able to read, edit, and execute files here.\n\n Security guide\n\n"
)
TRUST_ROWS = " ❯ 1. Yes, I trust this folder\n   2. No, exit\n\n Enter to confirm · Esc to cancel"
COMPACT = "Switch to compact mode?\n❯ Yes\n  No\n"
EFFORT = "Effort in Opus 5.5\n\n❯ 1. Use medium effort\n  2. Use high effort\n"

# Dialogs of an agent around words that somebody else wrote: a command, a plan, a question.
RULE = "─" * 80
SHELL_COMMAND = (
    f"{RULE}\n Bash command\n\n   {{}}\n   Tidy up\n\n Do you want to proceed?\n ❯ 1. Yes\n"
    "   2. Yes, and don't ask again for this command\n   3. No\n\n Esc to cancel · Tab to amend"
)
BOXED_COMMAND = (
    "╭──────────────────────────────────────╮\n│ Bash command                         │\n│   {}\n"
    "│ Do you want to proceed?              │\n│ ❯ 1. Yes                             │\n"
    "│   2. No                              │\n╰──────────────────────────────────────╯"
)
UNNUMBERED = " {}\n\n Do you want to proceed?\n ❯ Yes\n   No\n\n Esc to cancel · Tab to amend"
PLAN = (
    " Here is Claude's plan:\n╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌\n {}\n╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌\n\n Would you like to proceed?\n\n"
    " ❯ 1. Yes, and auto-accept edits\n   2. Yes, and manually approve edits\n   3. No, keep planning"
)
ASKED = (
    f"{RULE}\n ☐ Next\n\n{{}}\n\n❯ 1. Yes\n  2. No\n  3. Type something.\n{RULE}\n  4. Chat about this\n\n"
    "Enter to select · ↑/↓ to navigate · Esc to cancel"
)
AGENTS = (SHELL_COMMAND, BOXED_COMMAND, UNNUMBERED, PLAN, ASKED)
STYLE = "Let's get started.\n\n Choose the text style that looks best with your terminal\n"
STYLE += " To change this later, run /theme\n\n"

# Whole screens of an agent that waits, with the words of another dialog in them.
FORGED = {
    "a command says compact mode": SHELL_COMMAND.format("rm -rf ~ # compact mode"),
    "a boxed command says compact mode": BOXED_COMMAND.format("rm -rf ~ # compact mode"),
    "a command of another agent says compact mode": (
        " Run this command?\n\n   rm -rf ~ # compact mode\n\n ❯ 1. Yes\n   2. No\n"
    ),
    "rows without numbers, below compact mode": UNNUMBERED.format("rm -rf ~ # compact mode"),
    "a plan ends in compact mode": PLAN.format("1. Drop the tables\n 2. Build it in compact mode"),
    "a plan approved by rows alone": " 1. Drop the tables\n 2. compact mode\n\n ❯ Yes, go\n   No, stop",
    "a question names compact mode": ASKED.format("Drop the tables, then switch to compact mode?"),
    "a question is compact mode's": ASKED.format("Switch to compact mode?"),
    "a question that goes on above it": "Drop the tables, then\n" + COMPACT,
    "a question with a harmful row": "Switch to compact mode?\n❯ Yes\n  No\n  Drop the tables\n",
    "a question in a box": (
        "╭──────────────╮\n│ Drop it all? │\n│ compact mode │\n│ ❯ Yes        │\n│   No         │\n╰──────────────╯"
    ),
    "a command is a dialog": SHELL_COMMAND.format(COMPACT),
    "a command is a dialog, indented": SHELL_COMMAND.format(COMPACT.replace("\n", "\n   ")),
    "a menu above a dialog without a selected row": " ❯ Drop the tables\n   Keep them\n\n" + COMPACT.replace("❯", " "),
    "a file with a dialog above a menu": COMPACT + "\n Drop the tables?\n\n ❯ 1. Yes\n   2. No\n",
    "a command says high effort": SHELL_COMMAND.format("rm -rf ~ # Use high effort"),
    "a command says effort in Opus": SHELL_COMMAND.format("rm -rf ~\n   Effort in Opus 5.5"),
    "a question over levels of effort": "Drop the tables?\n\n❯ 1. Use high effort\n  2. Use low effort\n",
    "levels of effort, and another row": "Effort in Opus 5.5\n\n❯ 1. Drop the tables (high)\n  2. Use high effort\n",
    "levels of effort above a question": EFFORT + "\n Drop the tables?\n\n ❯ 1. Yes, high\n   2. No\n",
    "a safety check of something else": (
        " Quick safety check: may I drop the production database?\n\n ❯ 1. Yes, I trust you\n   2. No, exit\n\n"
        " Enter to confirm · Esc to cancel"
    ),
    "a safety check of something else, the right rows": (
        " Quick safety check: may I drop the production database?\n\n" + TRUST_ROWS
    ),
    "a safety check, and a paragraph more": TRUST + " The production database is dropped first.\n\n" + TRUST_ROWS,
    "a safety check, and a word more": TRUST.replace(" or one you trust?", " or one to drop?") + TRUST_ROWS,
    "a safety check, its words wrapped": (
        " Quick\n safety check: may I drop\n the database, or is it one\n you trust?\n\n" + TRUST_ROWS
    ),
    "a safety check in a box": (
        "│ Quick safety check: drop the database? │\n│ ❯ 1. Yes, I trust this folder          │\n"
        "│   2. No, exit                          │"
    ),
    "a safety check above another menu": TRUST + "\n Drop the tables?\n\n ❯ 1. Yes, I trust it\n   2. No\n",
    "a safety check with another row": TRUST
    + TRUST_ROWS.replace("   2. No, exit", "   2. No, exit\n   3. Drop the tables"),
    "a safety check in a command": SHELL_COMMAND.format(TRUST + TRUST_ROWS),
    "a safety check without numbers": (
        " Quick safety check: drop the database?\n\n   No, exit\n ❯ Yes, I trust this folder\n\n"
        " Enter to confirm · Esc to cancel"
    ),
    "a text style of something else": STYLE + " ❯ 1. Yes, in bypass mode\n   2. No\n",
    "a text style above another menu": STYLE
    + " Dark mode\n\n Drop the tables?\n ❯ 1. Yes, from this terminal\n   2. No\n",
}

# What a person should read before a key is pressed; below it, a request for any key.
ABOVE_A_KEY = {
    "English": ("All files in /home will be removed.", "Press any key to continue..."),
    "English, and a blank row": ("All files in /home will be removed.\n", "Press any key to continue..."),
    "English, Enter": ("The database is dropped next.", "Press Enter to continue"),
    "French": ("Tous les fichiers de /home seront supprimés.", "Appuyez sur une touche pour continuer..."),
    "German": ("Alle Dateien in /home werden gelöscht.", "Drücken Sie eine beliebige Taste..."),
    "Spanish": ("Todos los archivos de /home serán eliminados.", "Pulse cualquier tecla para continuar"),
    "Portuguese": ("Todos os arquivos em /home serão removidos.", "Pressione qualquer tecla para continuar"),
    "Chinese": ("/home 中的所有文件将被删除。", "请按任意键继续"),
    "a page": ("All files in /home will be removed.\n", "[Press Space for next page; Return to end.]"),
    "an arrow": ("All files in /home will be removed.\nPlease, press ENTER to continue", ">>> "),
}
