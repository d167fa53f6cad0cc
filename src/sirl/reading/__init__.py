"""From a policy to what a person understands, changes, proves and ships.

Trees come in and trees, text or records go out; only ``playing.py`` plays episodes, and only commands write files.
"""
