"""Charts of results: Vega-Lite specs, and pictures of them."""
