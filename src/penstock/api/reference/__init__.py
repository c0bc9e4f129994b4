"""The rendered description of the API: one page, one script, no other host."""
