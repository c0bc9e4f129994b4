"""What really happened: event logs of cases, maps of them, and models held against them. It knows no language."""
