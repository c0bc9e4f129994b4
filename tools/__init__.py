"""Programs that write what is generated and count what is tested; run as `python -m tools.NAME` from the root."""
