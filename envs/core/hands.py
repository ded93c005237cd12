"""Hands of cards that stay ascending: card ``hand[k]`` for ``k < size``, zeros behind."""

from typing import Any

from .jit import kernel


@kernel
def insert_card(hand: Any, size: int, card: int) -> None:
    """Put a card among the ``size`` cards of a hand."""
    k = size
    while k > 0 and hand[k - 1] > card:
        hand[k] = hand[k - 1]
        k -= 1
    hand[k] = card


@kernel
def remove_card(hand: Any, size: int, card: int) -> None:
    """Take a card, which is there, out of the ``size`` cards of a hand."""
    k = 0
    while hand[k] != card:
        k += 1
    while k < size - 1:
        hand[k] = hand[k + 1]
        k += 1
    hand[k] = 0
