"""The forms of modelers as JSON Schema: fields of Camunda 7 and its relatives, and forms of Camunda 8 in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.errors import DocumentUnreadable
from penstock.lang.process.bpmn.vendor_words import attribute, extensions, vendor_children
from penstock.lang.process.bpmn.vocabulary import ZEEBE
from penstock.lang.process.bpmn.xml_tree import XmlElement
from penstock.lang.read_json import parse_json
from penstock.lang.schemas import schema_problem

#: Types of form fields of Camunda 7, Activiti and Flowable.
_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"}, "long": {"type": "integer"}, "integer": {"type": "integer"},
    "int": {"type": "integer"}, "short": {"type": "integer"}, "double": {"type": "number"},
    "float": {"type": "number"}, "decimal": {"type": "number"},
    "boolean": {"type": "boolean"}, "date": {"type": "string", "format": "date"}, "enum": {"type": "string"},
}  # fmt: skip
_BOUNDS = {"min": "minimum", "max": "maximum", "minlength": "minLength", "maxlength": "maxLength"}
#: Components of a form of Camunda 8 that have a value.
_COMPONENTS: dict[str, dict[str, Any]] = {
    "textfield": {"type": "string"}, "textarea": {"type": "string"}, "number": {"type": "number"},
    "checkbox": {"type": "boolean"}, "radio": {}, "select": {}, "checklist": {"type": "array"},
    "taglist": {"type": "array"}, "datetime": {"type": "string", "format": "date-time"}, "filepicker": {},
}  # fmt: skip
_BOUNDED = {"min": "minimum", "max": "maximum", "minLength": "minLength", "maxLength": "maxLength"}
_EMBEDDED = "camunda-forms:bpmn:"
_DEEPEST = 10


def forms_in(process: XmlElement) -> dict[str, str]:
    """The forms that a process holds, by their ids: JSON as text."""
    return {form.get("id"): form.text for form in extensions(process, "userTaskForm", (ZEEBE,)) if form.get("id")}


def read_form(node: XmlElement, entry: dict[str, Any], forms: Mapping[str, str]) -> None:
    """Adds the form of a task; of one that lies elsewhere its name."""
    if form := _field_form(node):
        entry["form"] = form
        return
    key = attribute(node, "formKey") or attribute(node, "formRef")
    for definition in extensions(node, "formDefinition", (ZEEBE,)):
        named = (definition.get(name) for name in ("formKey", "formId", "externalReference"))
        key = key or next((name for name in named if name), "")
    if key.startswith(_EMBEDDED) and (form := _component_form(forms.get(key.removeprefix(_EMBEDDED), ""))):
        entry["form"] = form
    elif key:
        entry["form_key"] = key


def _schema(fields: Mapping[str, dict[str, Any]], required: list[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": dict(fields)}
    return schema | ({"required": required} if required else {})


def _with_choices(schema: dict[str, Any], choices: Mapping[str, str]) -> dict[str, Any]:
    """The ids are the values, their names what people see."""
    if not choices:
        return schema
    named = {id: name for id, name in choices.items() if name and name != id}
    return schema | {"enum": list(choices)} | ({"x-labels": named} if named else {})


# ---- fields of Camunda 7, Activiti and Flowable ----------------------------------------------------------------------


def _field_form(node: XmlElement) -> dict[str, Any]:
    fields: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    for field in _form_fields(node):
        id = field.get("id")
        rules = {rule.get("name"): rule.get("config") for child in vendor_children(field, "validation")
                 for rule in vendor_children(child, "constraint")}  # fmt: skip
        if not id or field.get("writable") == "false":
            continue
        fields[id] = _field(field, rules)
        if rules.get("required", "false") != "false" or field.get("required") == "true":
            required.append(id)
    return _schema(fields, required) if fields else {}


def _form_fields(node: XmlElement) -> Iterator[XmlElement]:
    for data in extensions(node, "formData"):
        yield from vendor_children(data, "formField")
    yield from extensions(node, "formProperty")


def _field(field: XmlElement, rules: Mapping[str, str]) -> dict[str, Any]:
    schema = dict(_TYPES.get(field.get("type") or "string", {"type": "string"}))
    title = field.get("label") or field.get("name")
    if title and title != field.get("id"):
        schema = {"title": title, **schema}
    schema = _with_choices(schema, {value.get("id"): value.get("name") for value in vendor_children(field, "value")})
    for name, word in _BOUNDS.items():
        if (bound := _number(rules.get(name, ""))) is not None:
            schema[word] = bound
    if (given := field.get("defaultValue") or field.get("default")) and "${" not in given and "#{" not in given:
        value = _value(given, str(schema["type"]))
        if value is not None:
            schema["default"] = value
    if rules.get("readonly", "false") != "false":
        schema["readOnly"] = True
    return schema


def _value(text: str, type: str) -> Any:
    if type == "boolean":
        return text == "true"
    return _number(text) if type in ("integer", "number") else text


def _number(text: str) -> int | float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not abs(value) < 1e15:
        return None
    return int(value) if value == int(value) else value


# ---- forms of Camunda 8 ----------------------------------------------------------------------------------------------


def _component_form(text: str) -> dict[str, Any]:
    try:
        data: Any = parse_json(text)[0] if text.strip() else None
    except DocumentUnreadable:
        return {}
    components = data.get("components") if isinstance(data, dict) else None
    form = _components(components, 0)
    return form if form["properties"] else {}


def _components(components: Any, depth: int) -> dict[str, Any]:
    form: dict[str, Any] = {"type": "object", "properties": {}}
    for component in components if isinstance(components, list) and depth < _DEEPEST else ():
        if not isinstance(component, dict):
            continue
        type, key = component.get("type"), component.get("key")
        if type == "group":
            _merge(_inner(form, str(component.get("path") or "")), _components(component.get("components"), depth + 1))
        elif type == "dynamiclist" and component.get("path"):
            rows = {"type": "array", "items": _components(component.get("components"), depth + 1)}
            _add(form, str(component["path"]), _titled(component, rows), required=False)
        elif type in _COMPONENTS and isinstance(key, str) and key:
            rules = component.get("validate")
            wanted = isinstance(rules, dict) and rules.get("required") is True
            _add(form, key, _component(component), required=wanted)
    return form


def _component(component: dict[str, Any]) -> dict[str, Any]:
    schema = dict(_COMPONENTS[component["type"]])
    given = component.get("validate")
    rules: dict[str, Any] = given if isinstance(given, dict) else {}
    for name, word in _BOUNDED.items():
        if (bound := _number(str(rules.get(name)))) is not None:
            schema[word] = bound
    pattern = {"pattern": rules.get("pattern")}
    if isinstance(pattern["pattern"], str) and schema_problem(pattern) is None:
        schema |= pattern
    if rules.get("validationType") == "email":
        schema["format"] = "email"
    if component["type"] == "number" and component.get("decimalDigits") == 0:
        schema["type"] = "integer"
    if component["type"] == "datetime" and component.get("subtype") in ("date", "time"):
        schema["format"] = component["subtype"]
    if component["type"] in ("radio", "select", "checklist", "taglist"):
        choices = _choices(component.get("values"))
        several = component["type"] in ("checklist", "taglist")
        chosen = _with_choices({"type": "string"} if choices else {}, choices)
        schema = {**schema, "items": chosen, "uniqueItems": True} if several else {**schema, **chosen}
    default = component.get("defaultValue")
    if default is not None and not (isinstance(default, str) and default.startswith("=")):
        schema["default"] = default
    if component.get("disabled") is True or component.get("readonly") is True:
        schema["readOnly"] = True
    return _titled(component, schema)


def _choices(values: Any) -> dict[str, str]:
    given = [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    return {str(value["value"]): str(value.get("label") or "") for value in given if value.get("value") is not None}


def _titled(component: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """With its label and description; those that are expressions are no texts."""
    words = {"title": component.get("label"), "description": component.get("description")}
    texts = {name: text for name, text in words.items() if isinstance(text, str) and text and not text.startswith("=")}
    return {**texts, **schema}


def _inner(form: dict[str, Any], path: str) -> dict[str, Any]:
    """The form at a path with dots."""
    for part in path.split(".") if path else ():
        form = form["properties"].setdefault(part, {"type": "object", "properties": {}})
        form.setdefault("properties", {})
    return form


def _merge(form: dict[str, Any], other: dict[str, Any]) -> None:
    form["properties"] |= other["properties"]
    if other.get("required"):
        form["required"] = [*form.get("required", ()), *other["required"]]


def _add(form: dict[str, Any], key: str, schema: dict[str, Any], *, required: bool) -> None:
    path, _, name = key.rpartition(".")
    _merge(_inner(form, path), {"properties": {name: schema}, "required": [name] if required else []})
