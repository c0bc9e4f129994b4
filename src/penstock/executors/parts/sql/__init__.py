"""SQL statements with values, and rows as JSON."""
