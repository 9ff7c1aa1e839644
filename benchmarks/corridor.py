"""Which modules one look and one press pass through, traced: `python benchmarks/corridor.py`.

A program in a private tmux server asks for any key, and a policy allows it: the modules in which a function of stallkit
runs, in the order in which they are first entered, and how often the next function called is in another module.  What
runs while a module is imported does not count.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

import stallkit
from stallkit import Options, Policy, Rule, check
from stallkit.packs.registry import installed_engine

PACKAGE = f"{Path(stallkit.__file__).parent}/"
ASKS = "read -n1 -s -p 'Press any key to continue '; exec sleep 99"


class Trace:
    """The modules of stallkit that were entered, and the changes between them."""

    def __init__(self) -> None:
        self.entered: dict[str, int] = {}
        self.changes = 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name == "<module>" or not code.co_filename.startswith(PACKAGE):
            return
        module = code.co_filename.removeprefix(PACKAGE).removesuffix(".py")
        self.entered[module] = self.entered.get(module, 0) + 1
        self.changes += module != self._last
        self._last = module


def main() -> None:
    policy = Policy("any key", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="tmux:asks")])
    engine = installed_engine()
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/tmux"
        tmux = ["tmux", "-f", "/dev/null", "-S", socket]
        subprocess.run([*tmux, "new-session", "-d", "-s", "asks", "bash", "-c", ASKS], check=True)
        try:
            time.sleep(1.0)
            trace, options = Trace(), Options(tmux_socket_path=socket)
            check("tmux:asks", engine=engine, options=options)  # once before, for what is made at the first use
            sys.setprofile(trace)
            result = check("tmux:asks", policy, engine=engine, options=options)
            sys.setprofile(None)
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)
    for module, calls in trace.entered.items():
        print(f"{calls:6} {module}")
    print(f"{len(trace.entered)} modules, {trace.changes} changes: {result.status}, {result.outcome}")


if __name__ == "__main__":
    main()
