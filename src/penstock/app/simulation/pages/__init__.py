"""Reports as pages for people."""
