"""The expressions of BPMN files: FEEL of Camunda 8, JUEL of Camunda 7 and its relatives, and our own.

What stands around an expression says what it is: `=` FEEL, `${…}` and `#{…}` JUEL. Where nothing does, its `language`
does, and then that of the file. A language that is not read here is kept with its name, and its finding names it.
"""

from __future__ import annotations

from penstock.errors import ExprSyntaxError, PenstockError
from penstock.expr import Expression, compile_expression
from penstock.expr.root_names import DATA_ROOTS
from penstock.lang.process import feel_text, juel_text
from penstock.lang.process.bpmn.vocabulary import CAMUNDA
from penstock.lang.process.bpmn.xml_tree import XmlElement
from penstock.lang.process.foreign_scripts import as_foreign

#: Parts of the names of languages (they are addresses, media types or words) and what we call them.
_FOREIGN = {
    "groovy": "groovy", "javascript": "javascript", "ecmascript": "javascript", "xpath": "xpath", "mvel": "mvel",
    "ruby": "ruby", "beanshell": "beanshell", "drools": "drools",
    "java.com/java": "java", "kotlin": "kotlin", "xquery": "xquery", "dmn/sfeel": "", "feel": "", "juel": "",
    "uel": "", "typelanguage": "", "javatypes": "",
}  # fmt: skip
#: Languages that files name by default without meaning it: their expressions are in other words.
_BY_DEFAULT = ("xpath", "java")
_XPATH = ("getDataObject(", "getDataInput(", "getDataOutput(", "getProcessProperty(", "getActivityProperty(")


def expression(text: str, *, condition: bool = False, language: str = "") -> str:
    """Our expression for a text of a file. What cannot be read keeps its `=` or `#{…}` and is refused by that."""
    text = text.strip()
    if "feel" in language.lower() and not text.startswith(("=", "${", "#{")):
        text = f"={text}"
    if text.startswith("="):
        try:
            return feel_text.as_expression(text, condition=condition)
        except ExprSyntaxError:
            return text
    if not text.startswith(("${", "#{")):
        return text
    try:
        return juel_text.as_expression(text)
    except ExprSyntaxError:
        inner = text[2:-1].strip() if text.endswith("}") else ""
        return inner if _is_ours(inner) else f"#{text[1:]}"


def formal_expression(element: XmlElement | None, default: str, *, condition: bool = False) -> str:
    """The expression of an element of a file, "" where there is none; `default`: the language of the file."""
    if element is None:
        return ""
    own = element.get("language")
    text = element.text.strip() or next((element.get("resource", space=space) for space in CAMUNDA), "")
    if text in ("", "true", "false"):  # whatever language stands beside it
        return text
    marked = text.startswith("=") or juel_text.is_juel(text)
    if own and (name := _foreign(own)) and not (marked and name in _BY_DEFAULT):
        return as_foreign(name, text)
    if not marked and any(name in text for name in _XPATH):
        return as_foreign("xpath", text)
    if not own and not marked and _compiled(text) is None:
        if name := _foreign(default):
            return as_foreign(name, text)
        if not default and "=" in text and _is_feel(f"={text}"):  # nothing says what it is, and it is no other
            return expression(f"={text}", condition=condition)
    return expression(text, condition=condition, language=own or default)


def is_computed(text: str) -> bool:
    """Whether a name is an expression: FEEL, or JUEL somewhere in it."""
    return text.startswith("=") or juel_text.is_juel(text)


def value_text(text: str) -> str:
    """A value as written, in which there may be expressions: they become one `${…}` of ours."""
    if text.strip().startswith("=") or text.strip().startswith(("${", "#{")) and text.strip().endswith("}"):
        return f"${{{expression(text)}}}"
    if not juel_text.is_juel(text):
        return text
    try:
        return juel_text.as_value(text)
    except ExprSyntaxError:
        return f"${{#{{{text}}}}}"  # refused where it is checked


def time_text(text: str) -> str:
    """A time as written; an expression that gives one keeps its `${…}`."""
    text = text.strip()
    return value_text(text) if text.startswith("=") or juel_text.is_juel(text) else text


def _foreign(language: str) -> str:
    """What we call a language that is not read here; "" for one that is read, and for one that nobody knows."""
    lower = language.lower()
    return next((name for part, name in _FOREIGN.items() if part in lower), "")


def _is_ours(text: str) -> bool:
    """Whether a text that is no JUEL has what only our expressions have."""
    compiled = _compiled(text)
    return compiled is not None and bool(compiled.functions or compiled.calls or compiled.roots & DATA_ROOTS)


def _is_feel(text: str) -> bool:
    try:
        feel_text.as_expression(text)
    except ExprSyntaxError:
        return False
    return True


def _compiled(text: str) -> Expression | None:
    try:
        return compile_expression(text, words=True)
    except PenstockError:
        return None
