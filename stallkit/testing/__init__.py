"""The public test kit: what packs and transports of anybody's are held to.

Nothing here needs pytest: a check raises AssertionError that lists everything found wrong.
"""

from stallkit.testing.packs import Example, check_pack, examples
from stallkit.testing.transports import Session, Stage, check_transport
from stallkit.transports.memory import MemoryTransport

__all__ = ["Example", "MemoryTransport", "Session", "Stage", "check_pack", "check_transport", "examples"]
