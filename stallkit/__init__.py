"""stallkit tells a terminal session that waits for a key from one that works, and says which prompt it is.

>>> from stallkit import Engine, Screen
>>> detection = Engine.default().detect(Screen.from_text("Proceed? [y/N] "))
>>> detection.match.signature.kind
<Kind.CONFIRM: 'confirm'>

The names in ``__init__.pyi`` are the public interface; each is loaded when it is first used, so that importing stallkit
costs little.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
