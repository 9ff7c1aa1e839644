"""The file that git, ssh and sudo can call, and the variables that lead them to it.

They call one file by its path, with the prompt as its only argument; so it holds all that it needs to know: which
Python, where stallkit is, where prompts are reported.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import stallkit
import stallkit_wrap
from stallkit import private
from stallkit.errors import StoreError
from stallkit_wrap.askpass.prompts import askpass_dir, write_whole

LAUNCHER = "askpass"
_ROOTS = sorted({str(Path(str(module.__file__)).resolve().parents[1]) for module in (stallkit, stallkit_wrap)})


def environment(folder: Path | None = None) -> dict[str, str]:
    """The variables that make git, ssh and sudo ask stallkit's askpass program; writes that program's file.

    sudo needs `-A` as well.  The program is in `folder` and reports there, by default `askpass_dir`.  Raises
    StoreError.
    """
    folder = (folder or askpass_dir()).absolute()
    file = folder / LAUNCHER
    try:
        private.folder(folder.parent)
        private.folder(folder)
        script = f'#!/bin/sh\nexec {shlex.join([*python("askpass_program"), str(folder)])} "$@"\n'
        write_whole(file, os.fsencode(script), 0o700)
    except OSError as error:
        todo = "set STALLKIT_STATE_DIR to a writable folder"
        raise StoreError("askpass program", str(file), error.strerror or str(error), todo) from error
    named = dict.fromkeys(("GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS"), str(file))
    # Else git asks at the terminal itself where it gets no answer, beside whoever reads there.
    return {**named, "SSH_ASKPASS_REQUIRE": "force", "GIT_TERMINAL_PROMPT": "0"}


def python(module: str) -> list[str]:
    """The command for a module of this room, whatever the folder and the Python variables it is called in."""
    code = f"import sys; sys.path[:0] = {_ROOTS!r}; from stallkit_wrap.askpass.{module} import main; main()"
    return [sys.executable, "-E", "-P", "-c", code]
