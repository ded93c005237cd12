"""The experiments that ship with Deckhand: one YAML file each."""
