"""Where trees play: both phases of the paper, and plain episodes."""
