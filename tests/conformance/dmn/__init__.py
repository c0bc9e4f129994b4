"""DMN models of our own with expected values of the standard."""
