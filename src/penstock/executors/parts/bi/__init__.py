"""Analysis of rows in a database: metrics, queries, statistics and results (C-50)."""
