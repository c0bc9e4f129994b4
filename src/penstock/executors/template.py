"""template: fills a text with its inputs (a diagram's template_job)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.files import sandboxed_files
from penstock.executors.parts.jinja import filled_in
from penstock.executors.parts.json_values import as_text
from penstock.executors.parts.templates import TemplateError, render, render_tree
from penstock.executors.parts.threads import in_thread
from penstock.executors.parts.variables import given_names


class TemplateExecutor:
    """args: template, variables (more names; inputs win), strict (a missing name fails), output_path (write too),
    engine (jinja2: the whole language of its expressions, also in a text without statements)."""

    name = "template"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        inputs, missing = given_names(request), list[str]()
        try:
            more = render_tree(args.get("variables") or {}, inputs)
            names = {**(more if isinstance(more, Mapping) else {}), **inputs}
            template, jinja = as_text(args.get("template")), args.get("engine") == "jinja2"
            text = await filled_in(template, names, missing=missing, jinja=jinja)
            path = render(as_text(args.get("output_path")), names)
        except TemplateError as error:
            return failed("TEMPLATE", "validation", f"The template cannot be rendered: {error}.")
        if missing and args.get("strict"):
            return failed("TEMPLATE_VARIABLE", "validation", f"Nothing is given for {', '.join(sorted(set(missing)))}.")
        meta: dict[str, Any] = {"missing": sorted(set(missing))} if missing else {}
        if path:
            try:
                data = text.encode("utf-8", "replace")
                await in_thread(
                    sandboxed_files.write, services.output_dir, path, data, request.key, services.path_policy
                )
            except sandboxed_files.PathRefused as error:
                return failed("PATH_REFUSED", "authorization", f"The path is refused: {error}.")
            except OSError as error:
                return failed("FILE_IO", "system", f"The file cannot be written: {error.strerror}.")
            meta["path"] = path
        return Done(text, meta or None, "raw_text")
