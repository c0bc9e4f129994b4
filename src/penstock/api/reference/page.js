// Renders the OpenAPI description that the server gives; nothing comes from another host.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function make(name, text, props) {
  const one = document.createElement(name);
  if (text !== undefined && text !== null) one.textContent = text;
  return Object.assign(one, props || {});
}

function named(schema) {
  return schema && schema.$ref ? schema.$ref.split("/").pop() : null;
}

function kind(schema) {
  if (!schema) return "any";
  if (schema.$ref) return named(schema);
  const some = schema.anyOf || schema.oneOf;
  if (some) return some.map(kind).join(" | ");
  if (schema.type === "array") return kind(schema.items) + "[]";
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  return (schema.type || "any") + (schema.format ? ` (${schema.format})` : "");
}

function resolved(spec, schema) {
  const name = named(schema);
  return name ? spec.components.schemas[name] : schema;
}

function example(spec, schema, depth) {
  const one = resolved(spec, schema);
  if (!one || depth > 4) return null;
  if (one.example !== undefined) return one.example;
  if (one.examples && one.examples.length) return one.examples[0];
  if (one.default !== undefined) return one.default;
  const some = one.anyOf || one.oneOf;
  if (some) return example(spec, some[0], depth + 1);
  if (one.type === "array") return [];
  if (one.type === "object" || one.properties) {
    const required = new Set(one.required || []);
    const found = {};
    for (const [name, part] of Object.entries(one.properties || {})) {
      if (required.has(name) || (part.examples && part.examples.length)) found[name] = example(spec, part, depth + 1);
    }
    return found;
  }
  return { string: "…", integer: 1, number: 1, boolean: true }[one.type] ?? null;
}

function fields(spec, schema) {
  const one = resolved(spec, schema);
  if (!one || !one.properties) return make("p", kind(schema));
  const table = make("table"), required = new Set(one.required || []);
  for (const [name, part] of Object.entries(one.properties)) {
    const row = table.insertRow();
    row.append(make("td"), make("td", kind(part)), make("td", part.description || ""));
    row.cells[0].append(make("code", name + (required.has(name) ? "" : "?")));
  }
  return table;
}

function section(body, title, part) {
  body.append(make("h3", title), part);
}

function parameters(list) {
  const table = make("table");
  for (const one of list) {
    const row = table.insertRow();
    row.append(make("td"), make("td", `${one.in}${one.required ? ", required" : ""}`), make("td", kind(one.schema)),
      make("td", one.description || ""));
    row.cells[0].append(make("code", one.name));
  }
  return table;
}

function route(spec, path, method, asked) {
  const all = make("details", null, { id: asked.operationId });
  const head = make("summary");
  head.append(make("b", method.toUpperCase()), make("code", path), make("span", asked.summary || ""));
  const body = make("div", null, { className: "body" });
  all.addEventListener("toggle", () => {
    if (!all.open || body.childNodes.length) return;
    if (asked.description) body.append(make("p", asked.description));
    if (asked.parameters && asked.parameters.length) section(body, "Parameters", parameters(asked.parameters));
    const media = asked.requestBody && asked.requestBody.content["application/json"];
    if (media) {
      section(body, "Body", fields(spec, media.schema));
      const shown = media.example !== undefined ? media.example : example(spec, media.schema, 0);
      body.append(make("pre", JSON.stringify(shown, null, 2)));
    }
    for (const [status, answer] of Object.entries(asked.responses || {})) {
      if (!/^2/.test(status)) continue;
      const given = answer.content && answer.content["application/json"];
      section(body, `Answer ${status}`, given ? fields(spec, given.schema) : make("p", answer.description || ""));
    }
  });
  all.append(head, body);
  all.dataset.text = `${method} ${path} ${asked.summary || ""}`.toLowerCase();
  return all;
}

function draw(spec) {
  document.getElementById("about").textContent = spec.info.description;
  const routes = document.getElementById("routes"), tags = document.getElementById("tags"), groups = new Map();
  routes.replaceChildren();
  const about = new Map((spec.tags || []).map((one) => [one.name, one.description]));
  for (const [path, item] of Object.entries(spec.paths)) {
    for (const method of METHODS) {
      if (!item[method]) continue;
      const tag = (item[method].tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(route(spec, path, method, item[method]));
    }
  }
  for (const [tag, list] of groups) {
    const part = make("section", null, { id: `tag-${tag.replace(/\W+/g, "-")}` });
    part.append(make("h2", tag), make("p", about.get(tag) || ""), ...list);
    routes.append(part);
    tags.append(make("a", tag, { href: `#${part.id}` }));
  }
}

document.getElementById("find").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  for (const one of document.querySelectorAll("details")) one.hidden = !one.dataset.text.includes(wanted);
});

fetch("/api/v1/openapi.json")
  .then((answer) => answer.json())
  .then(draw)
  .catch((error) => document.getElementById("routes").replaceChildren(make("p", `It could not be read: ${error}`)));
