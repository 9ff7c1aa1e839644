"""Keys that sign policies: NKeys (Ed25519), the form that the bus uses for its own."""

from __future__ import annotations

import base64
import os
from contextlib import suppress

import nacl.exceptions
import nacl.signing
import nkeys


def new_key() -> tuple[str, str]:
    """A new key: the seed, which stays secret, and the public key."""
    seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
    return seed.decode(), public_of(seed.decode())


def public_of(seed: str) -> str:
    """The public key of a seed.  Raises ValueError for what is no seed."""
    public: bytes = _pair(seed).public_key
    return public.decode()


def sign(data: bytes, seed: str) -> str:
    """The signature over the data, as text.  Raises ValueError for what is no seed."""
    return base64.b64encode(_pair(seed).sign(data)).decode()


def is_signed(data: bytes, signature: str, public: str) -> bool:
    """Whether the signature over the data is by the key of that public key."""
    with suppress(nacl.exceptions.CryptoError, nacl.exceptions.TypeError, nacl.exceptions.ValueError, ValueError):
        raw = base64.b32decode(public + "=" * (-len(public) % 8))[1:-2]
        nacl.signing.VerifyKey(raw).verify(data, base64.b64decode(signature, validate=True))
        return True
    return False


def _pair(seed: str) -> nkeys.KeyPair:
    try:
        return nkeys.from_seed(bytearray(seed.strip().encode()))
    except Exception as error:  # its own classes of errors have no common one
        raise ValueError("it holds no key: a seed begins with SU and has 58 characters") from error
