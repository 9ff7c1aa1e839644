"""What a start adds to a command so that its program says more of itself: the options of the program's source.

What they need is in one folder of the state directory, which goes with the session.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path, PurePath
from typing import Sequence

from stallkit import private
from stallkit.config import state_dir
from stallkit.signals.heard import installed_sources
from stallkit.signals.source import Starter

__all__ = ["command_with_signals", "remove_files"]


def command_with_signals(command: Sequence[str], id: str) -> list[str]:
    """The command for the start with this id; as it was if no installed source has options for it.

    Raises OSError if the files that the options need cannot be written.
    """
    program, folder = PurePath(command[0]).name if command else "", _folder(id)
    for source in installed_sources():
        if isinstance(source, Starter) and program in source.programs:
            private.folder(folder)
            try:
                words = source.start_with(command, folder)
            except OSError:
                raise
            except Exception as error:  # foreign code: whatever else it raises is its own failure
                logging.getLogger(__name__).warning("signals: %s starts nothing: %s", source.name, error)
                words = None
            if words is not None:
                return list(words)
            remove_files(id)
    return list(command)


def remove_files(id: str) -> None:
    """Remove the files of a start that has ended."""
    shutil.rmtree(_folder(id), ignore_errors=True)


def _folder(id: str) -> Path:
    return state_dir().absolute() / "hooks" / id
