"""Changes of definitions: what a history shows, drawn into a process, and told again as differences."""
