"""expression: evaluates an expression over the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import ExprError, PenstockError
from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.expr import compile_expression


class ExpressionExecutor:
    """args: expression, and whatever else it names; inputs go before arguments. Inline: it neither waits nor blocks."""

    name = "expression"
    inline = True

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        text = request.args if isinstance(request.args, str) else args.get("expression")
        if not isinstance(text, str):
            return failed("INPUT_INVALID", "validation", "«expression» must be a text")
        view = {**args, **request.named(), "epoch": request.epoch}
        try:
            return Done(json_value(compile_expression(text)(view)))
        except ExprError as error:
            return failed(error.code, error.category, str(error))
        except PenstockError as error:
            return failed(error.code, "validation", str(error))
        except NotJson as error:
            return failed("EXPR_TYPE", "validation", f"The expression yields what JSON cannot hold: {error}.")
