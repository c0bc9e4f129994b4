"""One file per resource; `server.py` lists them."""
