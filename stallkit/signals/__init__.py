"""What programs publish of themselves outside their terminal, and all that a source of it is made with.

A pack that brings a source imports it from here (docs/signals.md); this package holds none.  Floor 1, beside probes.
"""

from stallkit.detect.signature import Kind, State
from stallkit.evidence.signal import Guard, Signal
from stallkit.signals.source import (
    Publisher,
    SignalSource,
    Starter,
    has_option,
    listening_ports,
    one_line,
    read_json,
    tail_of,
    write_own,
)

__all__ = [
    "Guard",
    "Kind",
    "Publisher",
    "Signal",
    "SignalSource",
    "Starter",
    "State",
    "has_option",
    "listening_ports",
    "one_line",
    "read_json",
    "tail_of",
    "write_own",
]
