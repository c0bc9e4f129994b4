"""Stories in a real browser, against a started process."""
