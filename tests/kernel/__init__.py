"""The kernel's own tests: scenarios, golden traces, laws, equality with the model."""
