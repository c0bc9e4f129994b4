"""The kernel's meaning as a model that runs: the oracle of the differential tests."""
