"""Recurrent layers and their cells; the equations are those of torch's documentation."""
