"""Which effects reach the world: what only computes, or stays in the scenario's own store, is done; the rest is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.executors.contract import Request, Services
from penstock.executors.parts.network.self_calls import OWN

#: executors that compute, or work with the store alone
_INSIDE = frozenset({
    "assign", "code", "expression", "process_data", "publish", "rollback", "rollout", "shape", "simulate",
})  # fmt: skip
#: services of persons, kinds of agents and types of tools that answer by themselves
_OWN_SERVICES, _OWN_AGENTS, _OWN_TOOLS = ("mock", "echo", "script"), ("echo",), ("outbox",)


def stays_inside(executor: str, request: Request, services: Services) -> bool:
    """Can this effect be done without the world?"""
    args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
    if executor in _INSIDE:
        return True
    decide = _BY_ARGUMENTS.get(executor)
    return decide is not None and decide(args, _Registered(request, services))


class _Registered:
    """What the tenant has registered."""

    def __init__(self, request: Request, services: Services) -> None:
        self._tenant = None if services.tenant is None else services.tenant(request.tenant)

    def member(self, type: str, id: Any, member: str) -> str:
        body = self._tenant.find(type, str(id)) if self._tenant is not None else None
        return str((body or {}).get(member) or "")

    def has_member(self, type: str, member: str) -> bool:
        """Has anything of the type such a member?"""
        return self._tenant is not None and any(body.get(member) for body in self._tenant.each(type).values())


def _by_own_api(args: Mapping[str, Any], registered: _Registered) -> bool:
    base = registered.member("connection", args.get("connection") or "default_api", "base_url")
    return base.startswith(OWN) and ":" not in str(args.get("path") or "").partition("/")[0]


def _by_stub_model(args: Mapping[str, Any], registered: _Registered) -> bool:
    wanted = args.get("connection") or args.get("model_connection") or "default_llm"
    return registered.member("connection", wanted, "type") == "stub"


def _judged_inside(args: Mapping[str, Any], registered: _Registered) -> bool:
    policy = args.get("policy")
    by_model = isinstance(policy, Mapping) and policy.get("type") in ("LLM_ONLY", "HYBRID")
    return not by_model or _by_stub_model(policy if isinstance(policy, Mapping) else {}, registered)


def _own_person(args: Mapping[str, Any], registered: _Registered) -> bool:
    person = args.get("person")
    return isinstance(person, Mapping) and (person.get("service") or "mock") in _OWN_SERVICES


def _own_agent(args: Mapping[str, Any], registered: _Registered) -> bool:
    name = args.get("agent")
    return name in _OWN_AGENTS or registered.member("agent", name, "kind") in _OWN_AGENTS


_BY_ARGUMENTS: dict[str, Callable[[Mapping[str, Any], _Registered], bool]] = {
    "agent": _own_agent,
    "api": _by_own_api,
    "context": lambda args, registered: not registered.has_member("aas", "url"),
    "judgment": _judged_inside,
    "llm": _by_stub_model,
    "person": _own_person,
    "stream": lambda args, registered: registered.member(
        "connection", args.get("connection") or "default_stream", "type") == "events",
    "template": lambda args, registered: not args.get("output_path"),
    "tool": lambda args, registered: registered.member("tool", args.get("tool"), "type") in _OWN_TOOLS,
}  # fmt: skip
