"""A run from its start to its score: the directory, checkpoints, training, evaluation, and many runs side by side."""
