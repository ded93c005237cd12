"""Keltis: Das Kartenspiel (Reiner Knizia, KOSMOS 2009): rules, observation and table."""
