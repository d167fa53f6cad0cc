"""Figures, drawn from the rows of saved tables; nothing is computed here."""
