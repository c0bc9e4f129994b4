"""Work that is done in a child process of its own."""
