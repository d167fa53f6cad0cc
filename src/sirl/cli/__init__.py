"""The command line: a file a command; each parses, calls the library and prints."""
