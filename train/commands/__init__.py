"""The commands of ``deckhand``: one module each with ``register(app)``. Whatever is slow to import is imported inside the command."""
