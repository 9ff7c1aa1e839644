"""What an agent may plant in its repository so that git runs a program of its own, for tests."""

from __future__ import annotations

import os
from pathlib import Path

from repositories import commit, git


def trap(home: Path) -> tuple[str, Path]:
    """A program that leaves a mark, and the mark."""
    mark, program = home.parent / "mark", home.parent / "trap"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    program.chmod(0o755)
    return str(program), mark


def touch(home: Path) -> None:
    """Make every file one that git has to compare by its content."""
    for path in home.iterdir():
        if path.is_file():
            os.utime(path, (1, 1))


def filters(home: Path, program: str) -> None:
    (home / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv"):
        git(home, "config", key, program)
    git(home, "config", "diff.evil.command", program)
    (home / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")


def monitor(home: Path, program: str) -> None:
    git(home, "config", "core.fsmonitor", program)


def hooks(home: Path, program: str) -> None:
    git(home, "config", "core.hooksPath", str(home / "hooks"))
    for folder in (home / "hooks", home / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(program)


def words(home: Path, program: str) -> None:
    """All settings that name a program, and aliases of what is called."""
    for key in (
        "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand",
        "diff.external", "pager.status", "pager.config", "gpg.program", "credential.helper", "sequence.editor",
        "interactive.diffFilter", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        git(home, "config", key, program)
    for name in ("status", "config", "rev-list", "for-each-ref"):
        git(home, "config", f"alias.{name}", f"!{program}")


def included(home: Path, program: str) -> None:
    (home / "evil").write_text(f'[core]\n\tfsmonitor = {program}\n[filter "evil"]\n\tclean = {program}\n')
    (home / ".gitattributes").write_text("* filter=evil\n")
    git(home, "config", "include.path", str(home / "evil"))


def of_the_worktree(home: Path, program: str) -> None:
    git(home, "config", "extensions.worktreeConfig", "true")
    git(home, "config", "--worktree", "core.fsmonitor", program)


def promised(home: Path, program: str) -> None:
    """Objects are missing, and to be fetched by a program."""
    git(home, "config", "core.repositoryFormatVersion", "1")
    git(home, "config", "extensions.partialClone", "evil")
    git(home, "config", "remote.evil.url", f"ext::{program}")
    git(home, "config", "remote.evil.promisor", "true")
    git(home, "config", "protocol.ext.allow", "always")
    tree = git(home, "rev-parse", "HEAD^{tree}")
    (home / ".git" / "objects" / tree[:2] / tree[2:]).unlink()


def a_part(home: Path, program: str) -> None:
    git(home.parent, "init", "-q", "part")
    commit(home.parent / "part")
    git(home, "submodule", "--quiet", "add", str(home.parent / "part"), "part")
    git(home, "commit", "-qm", "part")
    git(home / "part", "config", "core.fsmonitor", program)
    git(home, "config", "submodule.part.update", f"!{program}")
    git(home, "config", "status.submoduleSummary", "true")
