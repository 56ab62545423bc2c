"""Arithmetic, comparisons, logic and the elementary functions, element by element with broadcasting."""
