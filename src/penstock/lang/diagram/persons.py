"""Persons: who answers in a person_job. `mock`, `echo` and `script` need no network (D-X.17).

`ollama` answers on the machine itself, and `claude-code` is a program that the operator must allow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.fields import Fields
from penstock.lang.report import Report

#: With this before a secret's name, the command line finds it in the environment.
ENVIRONMENT = "PENSTOCK_SECRET_"
SECRET_REFERENCE = re.compile(r"\$\{secrets\.([A-Za-z_][A-Za-z0-9_]*)\}")
SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: services that answer nobody without a key
KEYED = ("openai", "anthropic", "google", "gemini")
CLAUDE_CODE = "claude-code"


class Person(Fields):
    """A model behind a service, or one of the built-in persons that answer by themselves."""

    service: Annotated[
        Literal["mock", "echo", "script", "openai", "anthropic", "google", "gemini", "ollama", "claude-code"],
        Meta(
            description="mock: a text made from the prompt, always the same. echo: the prompt. script: the listed "
            "answers, one per iteration. openai: any OpenAI-compatible HTTP service. anthropic, google, gemini: "
            "theirs. "
            "ollama: the one of this machine. claude-code: the program `claude`, where the operator allows it."
        ),
    ] = "mock"
    model: Annotated[str, Meta(description="The model's name at the service.")] = ""
    system_prompt: Annotated[str, Meta(description="Said to the model before every prompt.")] = ""
    answers: Annotated[list[Any], Meta(description="script: one per iteration; the last repeats.")] = []
    delay_ms: Annotated[int, Meta(ge=0, le=86_400_000, description="mock, echo, script: wait before the answer.")] = 0
    base_url: Annotated[str, Meta(description="openai: the service's address, if not OpenAI's own.")] = ""
    api_key: Annotated[str, Meta(description="openai: a reference such as ${secrets.OPENAI_API_KEY}.")] = ""
    api_key_id: Annotated[str, Meta(description="openai: the name of the secret that holds the key.")] = ""
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None, Meta(description="openai: how freely the model answers.")
    ] = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="openai: the longest answer, in tokens.")
    ] = None
    timeout: Annotated[
        Annotated[float, Meta(gt=0, le=86_400)] | None, Meta(description="openai: seconds to wait for an answer.")
    ] = None

    label: Annotated[str, Meta(description="Read and ignored: the name under `persons` counts.")] = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("service",)


def check_person(
    name: str, person: Person, at: str, report: Report, where: dict[str, str], secret: Callable[[str], bool] | None
) -> None:
    """Checks what the types of the fields cannot say. `secret` tells whether a secret is set here; None: unknown."""
    if person.service == "script" and not person.answers:
        report.error(
            "missing_field", f"The person «{name}» is a script without answers.", at, hint="Write `answers: [yes, no]`."
        )
    if person.api_key and not SECRET_REFERENCE.fullmatch(person.api_key):
        report.error(
            "hardcoded_secret",
            f"The person «{name}» has its key written out.",
            where.get("api_key", f"{at}/api_key"),
            hint="Write a reference: `api_key: ${secrets.OPENAI_API_KEY}`.",
        )
    if person.api_key_id and not SECRET_NAME.fullmatch(person.api_key_id):
        message = f"«api_key_id» of «{name}» is the name of a secret: letters, digits and underscores."
        hint = "Write the name only, such as OPENAI_API_KEY; the key itself stays with the host."
        report.error("wrong_type", message, where.get("api_key_id", f"{at}/api_key_id"), hint=hint)
    if person.service in KEYED:
        _check_key(name, person, at, report, where, secret)


def _check_key(
    name: str, person: Person, at: str, report: Report, where: dict[str, str], secret: Callable[[str], bool] | None
) -> None:
    """A key that is not set is only a warning: the diagram may run where it is."""
    field = "api_key" if person.api_key else "api_key_id"
    reference = SECRET_REFERENCE.fullmatch(person.api_key)
    key = reference[1] if reference else person.api_key_id
    if key and SECRET_NAME.fullmatch(key) and secret is not None and not secret(key):
        message = f"The person «{name}» needs the secret «{key}», which is not set here."
        hint = f"Where it runs, set {ENVIRONMENT}{key}, or `{key}` under [secrets] in settings.toml."
        report.warning("secret_not_set", message, where.get(field, f"{at}/{field}"), hint=hint)
    if not person.api_key and not person.api_key_id and not person.base_url:
        message = f"The person «{name}» names no key, and most services answer nobody without one."
        hint = (
            f"Write `api_key: ${{secrets.OPENAI_API_KEY}}` and set {ENVIRONMENT}OPENAI_API_KEY where it runs, "
            "or set `api_key` under [llm] in settings.toml there."
        )
        report.warning("no_key", message, at, hint=hint)


def person_args(name: str, person: Person) -> dict[str, Any]:
    """The person as arguments of an executor: the fields that are set, the key only as a reference."""
    args: dict[str, Any] = {"name": name, "service": person.service}
    for field in ("model", "system_prompt", "base_url", "temperature", "max_tokens", "timeout"):
        value = getattr(person, field)
        if value not in ("", None):
            args[field] = value
    if person.service == "script":
        args["answers"] = person.answers
    if person.delay_ms:
        args["delay_ms"] = person.delay_ms
    if person.service in KEYED and (person.api_key or person.api_key_id):
        args["api_key"] = person.api_key or f"${{secrets.{person.api_key_id}}}"
    return args
