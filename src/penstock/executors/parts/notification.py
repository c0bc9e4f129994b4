"""What a notification says and to whom: settings merged from four places (C-27), texts from a template (C-55).

What the kernel has evaluated (the arguments) is final. What comes from the registry is rendered here, once: its texts
read the template's parameters first and then the names of the run. A secret may be named in settings only; what would
carry one to a reader is refused.
"""

from __future__ import annotations

import functools
import secrets as random_bytes
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from penstock.errors import ExprError, ExprSyntaxError, ExprUnknownRoot
from penstock.executors.contract import Request, Tenant
from penstock.executors.parts.json_schema import schema_failure
from penstock.executors.parts.network.http_arguments import object_argument
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.notice_templates import BUILT_IN
from penstock.expr import Expression, compile_template
from penstock.expr.limits import Frame, Meter
from penstock.expr.nodes import Call, Literal, Name, Node, Path

MAX_RENDERED = 2 * 1024 * 1024  # characters that one template may make in all
#: settings whose value people read; a secret has no place in them
CONTENT = ("subject", "message", "attachments", "mention", "params", "values", "where", "summary")


class Unsendable(Exception):
    """A message that cannot be made or sent: code, category, the sentence, and what a program may want to know."""

    def __init__(self, code: str, category: str, why: str, detail: Any = None) -> None:
        self.code, self.category, self.detail = code, category, detail
        super().__init__(why)


class NotificationMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Ready but for its secrets, which are still references in `mark`."""

    config: dict[str, Any]
    mark: str
    subject: str = ""
    body: Any = None  # as the template has it: a text or a tree of values
    text: str = ""  # the same for people
    params: Mapping[str, Any] = {}
    template: str = ""


def compose(request: Request, tenant: Tenant, channel: str, channels: Collection[str]) -> NotificationMessage:
    """The message of one attempt; `channels` are the words that are types of channels and therefore no settings."""
    args = request.args
    own = _mapping(args.get("config"), "config")
    mark = request.mark or f"§{random_bytes.token_hex(16)}§"
    given = _template_of(args, own, channel)
    body = (tenant.find("template", given["id"]) or BUILT_IN.get(given["id"])) if given else None
    if given and body is None:
        raise Unsendable("TEMPLATE_NOT_FOUND", "validation", f"There is no template «{given['id'][:100]}».")
    params = _params(given, body)
    render = _Renderer(request.names, params, mark)
    layers = [render.tree(tenant.find("channel", channel) or {})]
    if body is not None:
        layers.append(render.tree(_for_channel(body, channel, channels)))
    config = merged_settings(channel, channels, *layers, own)
    subject = render.content(body.get("subject"), "subject") if body is not None else None
    content = render.content(body.get("body"), "body") if body is not None else None
    content = args.get("message") if content is None else content
    message = NotificationMessage(
        config=config,
        mark=mark,
        subject=_text(subject),
        body=content,
        text=_text(content),
        params=params,
        template=given["id"] if given else "",
    )
    _without_secrets(message)
    return message


def merged_settings(channel: str, channels: Collection[str], *layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one channel, later layers win. In each layer what stands under the channel's own name wins over what
    stands flat. Null is not a value: it leaves what was there."""
    out: dict[str, Any] = {}
    for layer in layers:
        nested = layer.get(channel)
        flat = {k: v for k, v in layer.items() if not (k in channels and isinstance(v, Mapping))}
        for part in (flat, nested if isinstance(nested, Mapping) else {}):
            out.update({name: value for name, value in part.items() if value is not None})
    return out


def require_settings(config: Mapping[str, Any], names: Collection[str], channel: str) -> None:
    """Every setting that the channel cannot do without, or CHANNEL_CONFIG_MISSING with the names of those absent."""
    missing = [name for name in names if config.get(name) is None or config[name] in ("", [], {})]
    if missing:
        listed = ", ".join(f"«{name}»" for name in missing)
        why = f"The channel {channel} needs {listed}: in channel.config, the template or the channel's defaults."
        raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", why, {"channel": channel, "missing": missing})


# ---- the template ----------------------------------------------------------------------------------------------------


def _template_of(args: Mapping[str, Any], own: Mapping[str, Any], channel: str) -> dict[str, Any] | None:
    """`template` is {id, params} or an id; an email may name it among its settings (W-4.5.9)."""
    nested = own.get(channel)
    named = nested.get("template") if isinstance(nested, Mapping) else None
    given = args.get("template") or named or own.get("template")
    if given is None:
        return None
    if isinstance(given, str):
        given = {"id": given}
    if not isinstance(given, Mapping) or not isinstance(given.get("id"), str) or not given["id"]:
        raise Unsendable("INPUT_INVALID", "validation", "«template» must be an id, or an object with «id».")
    return dict(given)


def _params(given: Mapping[str, Any] | None, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
    params = _mapping(given.get("params") if given else None, "template.params")
    schema = body.get("params_schema") if body is not None else None
    wrong = schema_failure(params, schema, "INPUT_INVALID") if schema else None
    if wrong is not None and given is not None:
        failure = wrong.failure
        why = f"The parameters of the template «{given['id']}» do not fit: {failure.message}"
        raise Unsendable(failure.code, failure.category, why, failure.detail)
    return params


def _for_channel(body: Mapping[str, Any], channel: str, channels: Collection[str]) -> Mapping[str, Any]:
    """The template's settings. Flat ones are meant for the template's own channel, if it names one."""
    config = _mapping(body.get("channel_config"), "channel_config")
    if body.get("channel") in (None, "", channel):
        return config
    return {k: v for k, v in config.items() if k in channels and isinstance(v, Mapping)}


class _References(dict[str, str]):
    """`secrets.NAME` in a registered setting becomes a reference, as in the author's own."""

    def __init__(self, mark: str) -> None:
        super().__init__()
        self.mark = mark

    def __missing__(self, name: str) -> str:
        return f"{self.mark}{name}{self.mark}"

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]


#: templates come back with every message; the language itself keeps short texts only
_KEPT_LENGTH = 16 * 1024
_compiled = functools.lru_cache(maxsize=256)(compile_template)


class _Renderer:
    """Renders registered texts with one budget for all of them."""

    def __init__(self, names: Mapping[str, Any], params: Mapping[str, Any], mark: str) -> None:
        self.view = Frame(names, Meter())
        self.view.update(params)
        self.references = _References(mark)
        self.left = MAX_RENDERED

    def tree(self, value: Any) -> Any:
        """Settings: every text rendered; secrets become references."""
        self.view["secrets"] = self.references
        return self._walk(value, "channel_config", True, 0)

    def content(self, value: Any, where: str) -> Any:
        return self._walk(value, where, False, 0)

    def _walk(self, value: Any, where: str, secrets: bool, depth: int) -> Any:
        if depth > 40:
            raise Unsendable("EXPR_LIMIT", "validation", f"The template's {where} is nested too deeply.")
        if isinstance(value, str):
            return self._text(value, where, secrets)
        if isinstance(value, Mapping):
            return {str(k): self._walk(v, where, secrets, depth + 1) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._walk(item, where, secrets, depth + 1) for item in value]
        return value

    def _text(self, text: str, where: str, secrets: bool) -> Any:
        self._spend(len(text))
        if "${" not in text:
            return text
        try:
            expression = _compiled(text) if len(text) <= _KEPT_LENGTH else compile_template(text)
            wrong = secret_misuse(expression, allowed=secrets)
            if wrong is not None:
                raise Unsendable("SECRET_NOT_ALLOWED", "validation", f"The template's {where} {wrong}.")
            made = expression(self.view)
        except ExprUnknownRoot as error:
            raise Unsendable("UNKNOWN_VARIABLE", "validation", f"In the template's {where}: {error}") from None
        except (ExprSyntaxError, ExprError) as error:
            raise Unsendable(error.code, "validation", f"In the template's {where}: {error}") from None
        self._spend(_size(made))
        return made

    def _spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise Unsendable("EXPR_LIMIT", "validation", f"The template makes more than {MAX_RENDERED:,} characters.")


def secret_misuse(expression: Expression, *, allowed: bool) -> str | None:
    """What a registered text does with secrets that it must not: ask for one where people read it, or let data say
    which one (C-63): whoever sends the data could have any secret of the tenant delivered."""
    if "secrets" not in expression.roots and "get_secret" not in expression.functions:
        return None
    if not allowed:
        return "asks for a secret; secrets belong into its channel_config only"
    return None if _written(expression.tree) else "lets data choose a secret: its name must be written there"


def _written(node: Node) -> bool:
    """Is every secret below a node of the tree named by a text?"""
    if isinstance(node, Name):
        return node.name != "secrets"
    if isinstance(node, Path) and isinstance(node.target, Name) and node.target.name == "secrets":
        return _is_text(node.children[1:]) and all(_written(child) for child in node.children[1:])
    if isinstance(node, Call) and node.function == "get_secret" and not _is_text(node.children):
        return False
    return all(_written(child) for child in node.children)


def _is_text(nodes: Sequence[Node]) -> bool:
    """Is the first of them a text?"""
    return bool(nodes) and isinstance(nodes[0], Literal) and isinstance(nodes[0].value, str)


# ---- small things ----------------------------------------------------------------------------------------------------


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    try:
        return object_argument(value, name)
    except CallRefused as wrong:
        raise Unsendable(wrong.code, wrong.category, f"{wrong}.") from None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _size(value: Any) -> int:
    if value is None or isinstance(value, bool | int | float):
        return 8
    return len(value) if isinstance(value, str | bytes) else len(msgspec.json.encode(value))


def _without_secrets(message: NotificationMessage) -> None:
    read = [message.subject, message.body, message.params, {k: message.config.get(k) for k in CONTENT}]
    if _holds(read, message.mark):
        why = "The message itself would carry a secret; secrets belong into the settings of the channel only."
        raise Unsendable("SECRET_NOT_ALLOWED", "validation", why)


def _holds(value: Any, mark: str) -> bool:
    if isinstance(value, str):
        return mark in value
    if isinstance(value, Mapping):
        return any(_holds(k, mark) or _holds(v, mark) for k, v in value.items())
    if isinstance(value, list | tuple):
        return any(_holds(item, mark) for item in value)
    return False
