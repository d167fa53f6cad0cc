"""Reading policies: from a tree to what a person understands."""
