"""How a server is set up."""

from __future__ import annotations

import msgspec

from penstock.host.sizes import Sizes


class Options(msgspec.Struct, frozen=True):
    """`dev` opens the console without a key and lets it choose whom to be. `hosts` are the names that requests may be
    for (see `host_names.py`); none: any."""

    dev: bool = False
    console: bool = True
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    body_limit: int = Sizes().body_bytes
    document_limit: int = Sizes().document_bytes
    secure: bool = False
    living: bool = False  # runs are started by themselves, so that there is something to see
    folder: str = ""  # of documents that are released as they change
