"""context: what a run may know of its surroundings, fetched before it is asked for: shells of assets, similar cases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Tenant, failed
from penstock.executors.parts.aas import AasMissing, Assets, BadSource, read_aasx, read_json
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.files import sandboxed_files
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.http_call import MAX_BYTES, CallRefused, HttpCall
from penstock.executors.parts.network.http_client import send
from penstock.executors.parts.network.http_failures import status_failure
from penstock.executors.parts.secrets import SecretMissing, Secrets
from penstock.executors.parts.threads import in_thread

TOP_K = 5
_MOST_TOP_K = 100
_MOST_PAGES = 200
_PAGE = 100
_KEPT = 32  # files


class _ContextFailed(Exception):
    """The attempt is over with this outcome."""

    def __init__(self, outcome: Failed) -> None:
        super().__init__(outcome.failure.message)
        self.outcome = outcome


class ContextExecutor:
    """args: aas (list of "type.id" or {type, id}), rag (list of {name, query, top_k}), calls (list of {name, args}).

    A thing is looked for among the tenant's registered `aas` objects, then in its sources in the order of their ids:
    `source.NAME` with `file` (JSON or AASX under the input folder) or `url` (an AAS repository, with `secret` or
    `headers`). What nobody knows is null. Searches are the tenant's own.
    """

    name = "context"

    def __init__(self) -> None:
        self._files: dict[str, tuple[tuple[int, int, int], Assets]] = {}

    async def run(self, request: Request, services: Services) -> Outcome:
        if services.tenant is None:
            return failed("CONTEXT_MISSING", "permanent", "This host has no register of tenants to look things up in.")
        tenant = services.tenant(request.tenant)
        secrets = Secrets(tenant.secret)
        try:
            args = _object(request.args, "the arguments")
            shells = await self._shells(_wanted(args.get("aas")), tenant, secrets, request, services)
            context = {"aas": shells, "rag": await _searches(args, tenant, request)}
            return Done(json_value(secrets.scrub(context)), None, "object")
        except _ContextFailed as stop:
            return scrub_failure(stop.outcome, secrets)
        except NotJson as error:
            return failed("OUTPUT_INVALID", "validation", f"What was found is no value that JSON can hold: {error}.")

    # -- shells ------------------------------------------------------------------------------------------------------

    async def _shells(
        self, wanted: list[tuple[str, str]], tenant: Tenant, secrets: Secrets, request: Request, services: Services
    ) -> dict[str, dict[str, Any]]:
        shells: dict[str, dict[str, Any]] = {}
        open_: list[tuple[str, str]] = []
        for kind, name in wanted:
            known = None if kind == "source" else tenant.find("aas", f"{kind}.{name}")
            shells.setdefault(kind, {})[name] = known
            if known is None:
                open_.append((kind, name))
        sources = sorted((id, body) for id, body in tenant.each("aas").items() if id.startswith("source."))
        for id, body in sources:
            if not open_:
                break
            things = await self._source(id, body, secrets, request, services)
            for kind, name in open_:
                shells[kind][name] = things.get((kind.lower(), name))
            open_ = [(kind, name) for kind, name in open_ if shells[kind][name] is None]
        return shells

    async def _source(
        self, id: str, body: Mapping[str, Any], secrets: Secrets, request: Request, services: Services
    ) -> Assets:
        path, url = body.get("file"), body.get("url")
        try:
            if isinstance(path, str):
                return await in_thread(self._file, path, services)
            if isinstance(url, str):
                return await _repository(url, body, secrets, request, services)
        except AasMissing:
            raise _ContextFailed(extra_missing("Asset administration shells need", "aas")) from None
        except BadSource as error:
            raise _ContextFailed(
                failed("AAS_SOURCE", "permanent", f"The source «{id}» cannot be used: {error}.")
            ) from None
        message = f"The source «{id}» has neither a «file» nor a «url»."
        raise _ContextFailed(failed("AAS_SOURCE", "permanent", message))

    def _file(self, path: str, services: Services) -> Assets:
        """The things of a file; it is read again when it has changed."""
        limit = int(services.settings.get("file.max_bytes") or sandboxed_files.MAX_BYTES)
        whole = str(services.input_dir / path)
        try:
            sandboxed_files.names_of(path)
            state = Path(whole).lstat()
            mark = (state.st_mtime_ns, state.st_size, state.st_ino)
            kept = self._files.get(whole)
            if kept is not None and kept[0] == mark:
                return kept[1]
            data = sandboxed_files.read(services.input_dir, path, limit, services.path_policy)
        except sandboxed_files.PathRefused as error:
            raise _ContextFailed(
                failed("PATH_REFUSED", "authorization", f"The path «{path}» is refused: {error}.")
            ) from None
        except sandboxed_files.TooLarge as error:
            raise _ContextFailed(failed("FILE_TOO_LARGE", "resource", f"«{path}»: {error}.")) from None
        except FileNotFoundError:
            raise _ContextFailed(failed("FILE_NOT_FOUND", "permanent", f"There is no file «{path}».")) from None
        except OSError as error:
            raise _ContextFailed(failed("FILE_IO", "system", f"«{path}» cannot be used: {error.strerror}.")) from None
        things = read_aasx(data) if data[:2] == b"PK" else read_json(data)
        if len(self._files) >= _KEPT:
            self._files.clear()
        self._files[whole] = (mark, things)
        return things


def _wanted(value: Any) -> list[tuple[str, str]]:
    wanted: list[tuple[str, str]] = []
    for entry in _list(value, "aas"):
        if isinstance(entry, Mapping):
            kind, name = entry.get("type"), entry.get("id")
        else:
            kind, _, name = entry.partition(".") if isinstance(entry, str) else ("", "", "")
        if isinstance(entry, str) and kind and entry == f"{kind}.":
            continue  # `aas.line[x]` where x is null: nothing has that name, and reading it gives null
        if not (isinstance(kind, str) and isinstance(name, str) and kind and name):
            raise _invalid("an entry of «aas» is «type.id» or an object with type and id")
        wanted.append((kind, name))
    return list(dict.fromkeys(wanted))


# ---- a repository ----------------------------------------------------------------------------------------------------


async def _repository(
    url: str, body: Mapping[str, Any], secrets: Secrets, request: Request, services: Services
) -> Assets:
    """Everything an AAS repository has, by the API of part 2 of the specification."""
    try:
        headers = {"Accept": "application/json", "Idempotency-Key": request.key}
        headers |= {
            f"{name}": secrets.fill(f"{text}") for name, text in _object(body.get("headers"), "headers").items()
        }
        if body.get("secret"):
            headers["Authorization"] = f"Bearer {secrets.get(str(body['secret']))}"
        shells = await _pages(f"{url.rstrip('/')}/shells", headers, request, services)
        submodels = await _pages(f"{url.rstrip('/')}/submodels", headers, request, services)
    except SecretMissing as error:
        raise _ContextFailed(failed("SECRET_NOT_FOUND", "authorization", str(error))) from None
    except CallRefused as error:
        raise _ContextFailed(failed(error.code, error.category, str(error))) from None
    except TimeoutError as error:
        raise _ContextFailed(failed("NODE_TIMEOUT", "timeout", str(error))) from None
    except ConnectionError as error:
        raise _ContextFailed(failed("CONNECTION_LOST", "transient", str(error))) from None
    if not shells and not submodels:
        return {}
    environment = msgspec.json.encode({"assetAdministrationShells": shells, "submodels": submodels})
    return await in_thread(read_json, environment)


async def _pages(url: str, headers: Mapping[str, str], request: Request, services: Services) -> list[Any]:
    results: list[Any] = []
    cursors = {""}
    cursor = ""
    for _ in range(_MOST_PAGES):
        call = HttpCall(
            method="GET",
            url=f"{url}?limit={_PAGE}" + (f"&cursor={quote(cursor, safe='')}" if cursor else ""),
            headers=tuple(headers.items()),
            timeout_s=(request.timeout_ms or 30_000) / 1000,
            max_bytes=int(services.settings.get("http.max_bytes") or MAX_BYTES),
            ca_file=services.settings.get("http.ca_file"),
        )
        reply = await send(call, egress_policy_of(services.settings, request.tenant))
        wrong = status_failure(reply)
        if wrong is not None:
            raise _ContextFailed(wrong)
        try:
            page = msgspec.json.decode(reply.body)
        except (msgspec.DecodeError, RecursionError):
            raise BadSource(f"{reply.host} does not answer JSON") from None
        result = page.get("result") if isinstance(page, dict) else page
        if not isinstance(result, list):
            raise BadSource(f"{reply.host} does not answer as an AAS repository does")
        results += result
        paging = page.get("paging_metadata") if isinstance(page, dict) else None
        following = paging.get("cursor") if isinstance(paging, dict) else None
        if not following:
            return results
        cursor = str(following)
        if cursor in cursors:
            raise BadSource(f"the pages of {reply.host} go round in a circle")
        cursors.add(cursor)
    raise BadSource(f"it has more than {_MOST_PAGES} pages")


# ---- searches --------------------------------------------------------------------------------------------------------


async def _searches(args: Mapping[str, Any], tenant: Tenant, request: Request) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for entry in _list(args.get("rag"), "rag"):
        asked: Mapping[str, Any] = {"name": entry} if isinstance(entry, str) else _object(entry, "an entry of «rag»")
        query = asked.get("query")
        if query is None:  # the declared question is, where none is written, what the run was given
            query = request.names.get("input") if request.names else None
        answers[_name(asked)] = await tenant.search(_name(asked), query, _top_k(asked.get("top_k")))
    for entry in _list(args.get("calls"), "calls"):
        asked = _object(entry, "an entry of «calls»")
        given = _list(asked.get("args"), "args")
        if not 1 <= len(given) <= 2:
            raise _invalid(f"rag.{_name(asked)}(…) takes what is searched for and, if wanted, how many")
        answer = await tenant.search(_name(asked), given[0], _top_k(given[1] if len(given) > 1 else None))
        answers.setdefault(f"{_name(asked)}()", []).append([given, answer])
    return answers


def _name(asked: Mapping[str, Any]) -> str:
    name = asked.get("name")
    if not isinstance(name, str) or not name:
        raise _invalid("a search needs a «name», the collection it looks into")
    return name


def _top_k(value: Any) -> int:
    if value is None:
        return TOP_K
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_TOP_K:
        raise _invalid(f"how many are wanted of a search must be a number from 1 to {_MOST_TOP_K}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _invalid(f"«{what}» must be a list")
    return list(value)


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _invalid(f"{what} must be an object")
    return value


def _invalid(why: str) -> _ContextFailed:
    return _ContextFailed(failed("INPUT_INVALID", "validation", f"The context cannot be fetched: {why}."))
