"""Captured screens of agents, to draw with something else in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

from attrs import evolve, frozen

from soak.hostile_scenes.scene import Scene, drawn, last_words, put
from stallkit.core.screen import Screen
from stallkit.packs.screenfile import read_screen

__all__ = ["AGENTS", "COMPOSERS", "DIALOGS", "Captured"]

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
_DIALOGS = {
    "claude_code": (
        *("tool_permission", "tool_permission_rows", "plan_approval", "question_dialog", "bypass_warning"),
        *("mcp_server_approval", "auto_mode_offer", "api_key_choice", "workspace_trust_other", "limit_options"),
    ),
    "agent_clis": (
        *("codex_permission", "codex_plan", "gemini_permission", "gemini_trust", "opencode_permission"),
        *("copilot_permission", "cline_permission", "kimi_permission", "grok_permission", "continue_permission"),
    ),
}
_COMPOSERS = {
    "claude_code": ("composer", "spinner", "interruptible"),
    "agent_clis": (
        *("codex_composer", "gemini_composer", "opencode_composer", "aider_composer", "codex_working"),
        *("copilot_composer", "cline_composer", "kimi_composer", "gemini_working", "opencode_working"),
    ),
}
_PROGRAMS = {"continue": "cn"}


@frozen
class Captured:
    """A captured screen, and the program that shows it."""

    name: str
    program: str
    screen: Screen

    @classmethod
    def of(cls, pack: str, signature: str) -> Captured:
        """The smallest of a signature's hits that fits a terminal of 120 columns."""
        folder = PLUGINS / pack / "src" / f"stallkit_{pack}" / "screens" / signature
        files = [(path, read_screen(path)) for path in sorted(folder.glob("hit-*.txt"))]
        fitting = [one for one in files if one[1].screen.size and one[1].screen.size.columns <= 120]
        path, found = min(fitting or files, key=lambda one: (len(one[1].screen.lines), one[0].name))
        agent = "claude" if pack == "claude_code" else signature.partition("_")[0]
        return cls(f"{signature}/{path.stem}", _PROGRAMS.get(agent, agent), found.screen)

    def above(self, words: str, row: int = 0) -> Captured:
        """With words before a row."""
        added = words.split("\n")
        screen = self.screen
        cursor = screen.cursor
        if cursor is not None and cursor.row >= row:
            cursor = evolve(cursor, row=cursor.row + len(added))
        return evolve(
            self, screen=evolve(screen, lines=(*screen.lines[:row], *added, *screen.lines[row:]), cursor=cursor)
        )

    def scene(self, name: str, **given: Any) -> Scene:
        """The agent shows it, on a terminal that has room for all of it, and reads."""
        lines = self.screen.lines
        size = self.screen.size
        columns, rows = (size.columns, size.rows) if size else (80, 24)
        text = self.screen.text
        shows = last_words(text)
        if self.screen.cursor is not None:
            at = self.screen.cursor
            text = put(text, at.column, at.row, hides=at.visible is False)
        given = {"program": self.program, "size": (columns, max(rows, len(lines))), "shows": shows, **given}
        if self.screen.title:
            text = f"\033]2;{self.screen.title}\a{text}"
        return drawn(name, text, hides=False, **given)


DIALOGS: Sequence[Captured] = [Captured.of(pack, id) for pack, ids in _DIALOGS.items() for id in ids]
COMPOSERS: Sequence[Captured] = [Captured.of(pack, id) for pack, ids in _COMPOSERS.items() for id in ids]
AGENTS = ("claude", "node", "codex", "gemini", "opencode")
