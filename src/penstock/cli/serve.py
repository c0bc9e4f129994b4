"""Commands that serve: the API, the console and the workers in one process."""

from __future__ import annotations

import json as _json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.app.access.connection_limits import connection_limits
from penstock.app.maintenance.integrity import quick_look
from penstock.app.penstock import Penstock
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Profile, Speed, Store, speed_words
from penstock.cli.output import DONE, say
from penstock.cli.settings import read_settings
from penstock.errors import BadInput, ExtraMissing, StoreDamaged
from penstock.host.sizes import sizes_of
from penstock.host.tenants import Shared

PORT = 8080
_HERE = ("127.0.0.1", "localhost", "::1")

Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")]


def serve(
    host: Host = "127.0.0.1",
    port: Port = PORT,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="A name that the server is called by; others are refused.")
    ] = None,
    openapi: Annotated[bool, typer.Option("--openapi", help="Print the description of the API, and end.")] = False,
    speed: Speed = None,
    profile: Profile = None,
    store: Store = STORE,
) -> int:
    """Serve the API and the console, and drive the store's runs.

    The first start makes a key for the administrator and says where it is."""
    if openapi:
        return _describe()
    _refuse_speed(store, profile, speed)
    door = _door(store, profile, "all", speed)
    return _run(door, store, host, port, dev=False, names=tuple(name or ()), speed=speed)


def dev(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Documents to release, and again when they change.")
    ] = None,
    port: Port = PORT,
    quiet: Annotated[bool, typer.Option("--quiet", help="Start no runs by itself.")] = False,
    speed: Speed = None,
    store: Store = STORE,
) -> int:
    """Serve on this machine for trying things out: a sample tenant, a demo user per role, no keys."""
    door = _door(store, "dev", "others", speed)
    return serve_here(door, store, port, folder=folder, living=not quiet, speed=speed)


def serve_here(
    door: Penstock, store: Path, port: int, *, folder: Path | None = None, living: bool = False,
    interrupted: Callable[[], bool] | None = None, speed: float | None = None,
) -> int:  # fmt: skip
    """For whoever sits at this machine: no keys, a demo user per role. `interrupted` is asked at Ctrl-C whether the
    server goes on for now."""
    return _run(
        door, store, "127.0.0.1", port, dev=True, names=_HERE, folder=folder, living=living, interrupted=interrupted,
        speed=speed,
    )  # fmt: skip


def _door(store: Path, profile: str | None, shared: Shared, speed: float | None) -> Penstock:
    return Penstock(store, settings=read_settings(store), profile=profile, shared=shared, speed=speed)


def _refuse_speed(store: Path, profile: str | None, speed: float | None) -> None:
    """A server for others goes by the real time, unless it is one of the dev profile. Raises BadInput."""
    if speed is None or profile == "dev":
        return
    if store.exists():
        with reading(store) as reader:
            profile = reader.store.profile()
    if profile != "dev":
        hint = "`penstock dev --speed N` serves a sample tenant by a faster clock."
        raise BadInput(what="the speed", why="only a store with the dev profile has a faster clock", hint=hint)


def _describe() -> int:
    _extra()
    from penstock.api.server import create

    document = create(Penstock(":memory:", drive=False)).openapi()
    sys.stdout.write(_json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    return DONE


def _run(
    door: Penstock, store: Path, host: str, port: int, *, dev: bool, names: tuple[str, ...], folder: Path | None = None,
    living: bool = False, interrupted: Callable[[], bool] | None = None, speed: float | None = None,
) -> int:  # fmt: skip
    _extra()
    from penstock.api.host_names import hosts_of
    from penstock.api.options import Options
    from penstock.api.server import create
    from penstock.api.shutdown import DRAIN_NOTICE_S, HttpServer
    from penstock.app.metrics.logs import configure

    known = read_settings(store)
    if folder is not None and not folder.is_dir():
        raise BadInput(what=f"«{folder}»", why="it is not a folder", hint="Name the folder that holds your documents.")
    sizes = sizes_of(known)
    options = Options(
        dev=dev, hosts=hosts_of(known, host, names), living=living, folder=str(folder) if folder is not None else "",
        origins=_origins(store), secure=known.get("server.secure") is True,
        body_limit=sizes.body_bytes, document_limit=sizes.document_bytes,
    )  # fmt: skip
    limits = connection_limits(known)
    _look(store)
    app = create(door, options)
    listening = _listen(host, port)
    shown = f"http://{'localhost' if host in _HERE else host}:{listening.getsockname()[1]}"
    say(f"Penstock is at {shown}  (API {shown}/api/docs, store {store}, Ctrl-C stops{speed_words(speed)})")
    configure(known)
    drain_s = float(known.get("serve.drain_s", 0 if dev else DRAIN_NOTICE_S))
    server = HttpServer(app, app.state.server, drain_s, limits)
    server.interrupted = interrupted or server.interrupted
    server.run(sockets=[listening])
    door.raise_if_stopped()
    return DONE


def _look(store: Path) -> None:
    """A store that is damaged is not served: what is acknowledged into it might not be found again. Raises
    StoreDamaged."""
    if not store.exists():
        return
    with reading(store) as reader:
        wrong = quick_look(reader.store)
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise StoreDamaged(why=f"{wrong[0]}{more}")


def _origins(store: Path) -> tuple[str, ...]:
    """Pages of other sites that may call the API: none, unless the settings name them."""
    origins = read_settings(store).get("server.origins", [])
    if not isinstance(origins, list) or not all(isinstance(origin, str) and "://" in origin for origin in origins):
        hint = 'Write origins = ["https://app.example.com"].'
        raise BadInput(what="[server] origins", why="it is a list of origins", hint=hint)
    return tuple(origins)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, else asyncio leaves Nagle on
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        hint = "Choose another one with --port; 0 takes a free one."
        raise BadInput(
            what=f"the address {host}:{port}", why=(error.strerror or str(error)).lower(), hint=hint
        ) from error
    listener.listen(1024)
    return listener


def _extra() -> Any:
    try:
        import fastapi
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ExtraMissing(extra="server") from error
    return fastapi
