"""Virtual runs: the kernel in virtual time, and who answers it instead of the world."""
