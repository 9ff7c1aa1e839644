"""An agent's composer between two rules of dashes, as an engine knows it."""

from __future__ import annotations

from stallkit.detect.composer import Composer
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature

SIGNATURE = Signature(
    id="composer",
    title="an agent's composer",
    state="idle",  # type: ignore[arg-type]  # converted
    all_of=[Clause(pattern=r"^-{8}.*\n>(?: .*)?\n(?:  .*\n){0,12}?-{8}", where="tail(20)")],
    composer=Composer("> ", above="-{8}.*", below="-{8}", modes="!"),
)
ENGINE = Engine([Pack(name="agents", foreground={"agent", "python"}, signatures=[SIGNATURE])])
