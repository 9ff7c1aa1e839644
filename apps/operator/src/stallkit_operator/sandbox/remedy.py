"""The steps of an edit of a proxy's configuration, as a pure machine: which step is next, given how the last one went.

What is wrong is refused before anything is touched.  Whatever fails once files were replaced leads back to the files
that were there, and the proxy is asked again until it serves them.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ENDS", "FIRST", "TOUCHED", "Step", "next_step"]


class Step(StrEnum):
    """What is done next, or how it ended."""

    RENDER = "render"  # read the text, and make what the proxy reads of it
    CHECK = "check"  # the proxy's own check, on copies
    RECORD = "record"  # in the audit log, before anything is touched
    REPLACE = "replace"
    RELOAD = "reload"
    PROBE = "probe"  # a request that the new configuration allows
    PUT_BACK = "put back"
    RELOAD_BACK = "reload what was there"
    PROBE_BACK = "probe what was there"

    REFUSED = "refused"  # nothing was touched
    APPLIED = "applied"
    ROLLED_BACK = "rolled back"  # what was there is served again
    BROKEN = "broken"  # it could not be brought back, or does not serve after a reload: a person has to look


FIRST = Step.RENDER
ENDS = frozenset({Step.REFUSED, Step.APPLIED, Step.ROLLED_BACK, Step.BROKEN})
_THEN = {  # each step: what follows where it went well, and where it did not
    Step.RENDER: (Step.CHECK, Step.REFUSED),
    Step.CHECK: (Step.RECORD, Step.REFUSED),
    Step.RECORD: (Step.REPLACE, Step.REFUSED),
    Step.REPLACE: (Step.RELOAD, Step.PUT_BACK),
    Step.RELOAD: (Step.PROBE, Step.PUT_BACK),
    Step.PROBE: (Step.APPLIED, Step.PUT_BACK),
    Step.PUT_BACK: (Step.RELOAD_BACK, Step.BROKEN),
    Step.RELOAD_BACK: (Step.PROBE_BACK, Step.BROKEN),
    Step.PROBE_BACK: (Step.ROLLED_BACK, Step.BROKEN),
}
_RELOAD = {  # of a reload alone, after which there are no files to put back
    Step.RECORD: (Step.RELOAD, Step.REFUSED),
    Step.RELOAD: (Step.PROBE, Step.BROKEN),
    Step.PROBE: (Step.APPLIED, Step.BROKEN),
}
TOUCHED = frozenset(_THEN) - {Step.RENDER, Step.CHECK, Step.RECORD}  # steps at which files may be other than before


def next_step(step: Step, went_well: bool, reload: bool = False) -> Step:
    """The step after this one, of an edit or of a reload alone.

    >>> next_step(Step.CHECK, False)
    <Step.REFUSED: 'refused'>
    """
    then = {**_THEN, **_RELOAD} if reload else _THEN
    return then[step][0 if went_well else 1]
