"""The generator inside every record: sfc32 (Chris Doty-Humphrey, PractRand), written on signed 64-bit words.

The four words are non-negative and below 2**32, so every step fits a signed 64-bit integer: the compiled code and plain Python give the
same numbers on every machine. A game's chance is a function of its record alone.
"""

from typing import Any

import numpy as np

from .jit import kernel

WORD = 0xFFFFFFFF
MAX_SEED = 2**53 - 1
"""Seeds are integers from 0 to 2**53 - 1: every JSON reader keeps them exact."""


@kernel
def random_word(rng: Any) -> int:
    """The next 32 random bits of the generator ``rng`` (int64[4], changed in place)."""
    word = (rng[0] + rng[1] + rng[3]) & WORD
    rng[3] = (rng[3] + 1) & WORD
    rng[0] = rng[1] ^ (rng[1] >> 9)
    rng[1] = (rng[2] + (rng[2] << 3)) & WORD
    rng[2] = (((rng[2] << 21) | (rng[2] >> 11)) + word) & WORD
    return word


@kernel
def seed_rng(rng: Any, seed: int, stream: int) -> None:
    """Start the generator ``rng`` (int64[4]) from a seed and a stream number, both 0 .. 2**53 - 1."""
    rng[0] = seed & WORD
    rng[1] = seed >> 32
    rng[2] = (stream & WORD) ^ 0x9E3779B9
    rng[3] = (stream >> 32) + 1
    for _ in range(16):
        random_word(rng)


@kernel
def randint(rng: Any, n: Any) -> int:
    """A uniform integer 0 .. n-1 without bias (Lemire 2019, "Fast Random Integer Generation in an Interval"); 1 <= n < 2**31."""
    n = np.int64(n)  # a field of a record may be narrower, and then NumPy refuses the subtraction below
    product = random_word(rng) * n
    low = product & WORD
    if low < n:
        threshold = (WORD + 1 - n) % n
        while low < threshold:
            product = random_word(rng) * n
            low = product & WORD
    return product >> 32


@kernel
def random_unit(rng: Any) -> float:
    """A uniform float in [0, 1) with 32 random bits."""
    return random_word(rng) / 4294967296.0


@kernel
def shuffle(rng: Any, items: Any, n: int) -> None:
    """Shuffle ``items[:n]`` in place (Fisher and Yates)."""
    for i in range(n - 1, 0, -1):
        j = randint(rng, i + 1)
        items[i], items[j] = items[j], items[i]


@kernel
def derive_seed(seed: int, index: int) -> int:
    """The ``index``-th seed of the stream that ``seed`` names: ``seed`` itself for 0, else a 53-bit number."""
    if index == 0:
        return seed
    rng = np.empty(4, np.int64)
    # Counted from the far end, so that no derived seed shares a stream with a game, an agent or a resampled world of the same seed.
    seed_rng(rng, seed, MAX_SEED - index)
    return ((random_word(rng) & 0x1FFFFF) << 32) | random_word(rng)
