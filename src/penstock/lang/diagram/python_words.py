"""Python's own words in a diagram's expressions, as the public form writes them: `len(x)`, `x.get("key", 0)`.

They are written anew in the words of the expression language before it reads them. What is none of them stays, and
what is wrong is then told of what the author wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.expr.nodes import Name, every
from penstock.expr.tokenizer import NAME, tokenize

_CALLS = {
    "len": "length", "abs": "abs", "round": "round", "sum": "sum", "min": "min", "max": "max", "str": "concat",
}  # fmt: skip
_GET = re.compile(r"""([A-Za-z_]\w*(?:\.\w+|\[[^\[\]]*\])*)\.get\(\s*('[^']*'|"[^"]*")\s*(?:,\s*([^(),]+))?\)""")


def in_our_words(text: str) -> str:
    """The expression without Python's functions; as it is when it cannot be read."""
    text = _GET.sub(lambda get: f"fn.coalesce({get[1]}[{get[2]}], {get[3]})" if get[3] else f"{get[1]}[{get[2]}]", text)
    try:
        tokens = list(tokenize(text, 0, len(text), words=True))
    except PenstockError:
        return text
    out, at = "", 0
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        is_call = token.kind == NAME and token.text in _CALLS and after.kind == "("
        if is_call and (before is None or before.kind != "."):
            out += f"{text[at : token.start]}fn.{_CALLS[token.text]}"
            at = token.end
    return out + text[at:]


def with_names(text: str, meaning: Callable[[str], str | None]) -> str:
    """The expression with other texts for some of its names; as it is when it cannot be read."""
    try:
        tree = compile_expression(text, words=True).tree
    except PenstockError:
        return text
    out, at = "", 0
    for node in sorted((node for node in every(tree) if isinstance(node, Name)), key=lambda node: node.start):
        other = meaning(node.name)
        if other is not None and text[node.start : node.end] == node.name:
            out += text[at : node.start] + other
            at = node.end
    return out + text[at:]
