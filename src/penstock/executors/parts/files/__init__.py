"""Files that documents may read and write, held to their folders."""
