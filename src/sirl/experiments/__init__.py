"""Experiments: many runs, compared by statistics, as tables and figures; the paper's, and studies of one setting."""
