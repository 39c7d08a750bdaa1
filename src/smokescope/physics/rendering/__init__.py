"""Smoke without end: volumes of smoke, and what is mistaken for it, rendered over real pictures."""
