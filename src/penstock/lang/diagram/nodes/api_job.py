"""api_job (D-X.15): one HTTP request; {{name}} in its texts stands for an input."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import (
    Fragment,
    NodeType,
    WorkFields,
    single_node,
    task_node,
    without_defaults,
)

Scalar = str | int | float | bool


class ApiJobFields(WorkFields):
    url: Annotated[str, Meta(description="http:// or https://.")] = ""
    method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"], Meta(description="The HTTP method.")
    ] = "GET"
    headers: Annotated[dict[str, Scalar], Meta(description="Request headers; secrets as ${secrets.NAME}.")] = {}
    params: Annotated[dict[str, Scalar], Meta(description="The query of the address.")] = {}
    body: Annotated[Any, Meta(description="A text, or data that is sent as JSON.")] = None
    auth_type: Annotated[Literal["none", "bearer", "basic", "api_key"], Meta(description="How to log in.")] = "none"
    auth_config: Annotated[dict[str, Scalar], Meta(description="token; username and password; header and key.")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("url",)


def lower(f: ApiJobFields, context: LoweringContext) -> Fragment:
    if f.url and not f.url.lower().startswith(("http://", "https://", "{{")):
        hint = "Write it out, with http:// or https:// before the host."
        context.error("wrong_url", f"«{f.url}» is not an http or https address.", "url", hint=hint)
    context.checked_literal([f.headers, f.params, f.body, f.auth_config])
    for field, value in (
        ("headers", f.headers), ("params", f.params), ("body", f.body), ("auth_config", f.auth_config),
    ):  # fmt: skip
        context.warn_of_secrets(value, field)
    args: dict[str, Any] = {"method": f.method, "url": f.url}
    args |= without_defaults(f, "headers", "params", "body", "timeout", "auth_type", "auth_config")
    args |= context.variables(args)
    return single_node(task_node(f, context, "http", args))


API_JOB = NodeType("api_job", ApiJobFields, lower, "Sends one HTTP request and gives out the answer.")
