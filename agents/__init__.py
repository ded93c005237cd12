"""Deckhand."""
