"""How often something may happen: a token bucket.  Pure; times are seconds of any clock that does not go back."""

from __future__ import annotations

from attrs import evolve, frozen

__all__ = ["TokenBucket"]


@frozen
class TokenBucket:
    """Room for `size` tokens, which come back evenly, all of them in `window_s` seconds; `tokens` were there at `at`.

    >>> bucket = TokenBucket.full(2, window_s=60, at=0)
    >>> [(bucket := bucket.refilled(0).without_one()).tokens for _ in range(2)]
    [1.0, 0.0]
    >>> bucket.has_one, bucket.refilled(30).has_one
    (False, True)
    """

    size: int
    window_s: float
    tokens: float
    at: float

    @classmethod
    def full(cls, size: int, window_s: float, at: float) -> TokenBucket:
        """A bucket nothing was taken from."""
        return cls(size, window_s, float(size), at)

    def refilled(self, now: float) -> TokenBucket:
        """The bucket at another time; a clock that went back brings no tokens."""
        passed = max(0.0, now - self.at)
        return evolve(self, tokens=min(float(self.size), self.tokens + passed * self.size / self.window_s), at=now)

    @property
    def has_one(self) -> bool:
        """Whether something may happen; as of `at`."""
        return self.tokens >= 1

    @property
    def is_full(self) -> bool:
        """Whether nothing was taken for so long that it is as good as new."""
        return self.tokens >= self.size

    def without_one(self) -> TokenBucket:
        """The bucket with one token taken.  Raises ValueError where there is none."""
        if not self.has_one:
            raise ValueError("the bucket has no token")
        return evolve(self, tokens=self.tokens - 1)
