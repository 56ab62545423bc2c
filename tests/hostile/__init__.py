"""Lessons that attack the worker, and the proof that each one fails."""
