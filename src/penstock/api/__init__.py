"""The HTTP edge: what the door can do, for programs and for the console, in the words of each language."""
