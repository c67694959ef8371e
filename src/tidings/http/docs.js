const make = (name, ...children) => {
  const element = document.createElement(name);
  element.append(...children);
  return element;
};
const resolve = (api, schema) => {
  const name = schema && schema.$ref && schema.$ref.split("/").pop();
  return name ? { name, ...api.components.schemas[name] } : schema || {};
};
const kind = (api, schema) => {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map((one) => kind(api, one)).join(" | ");
  if (schema.type === "array") return `[${kind(api, schema.items)}]`;
  return schema.enum ? schema.enum.join(" | ") : schema.const || schema.format || schema.type || "any";
};
const fields = (api, schema) => {
  const rows = Object.entries(schema.properties || {}).map(([name, one]) =>
    make("tr", make("td", make("code", name + ((schema.required || []).includes(name) ? " *" : ""))),
      make("td", make("code", kind(api, one))), make("td", one.description || "")));
  return rows.length ? make("table", ...rows) : "";
};
const body = (api, title, content) => {
  const [type, media] = Object.entries(content || {})[0] || [];
  if (!media) return [];
  const schema = resolve(api, media.schema);
  const example = media.example || (schema.examples || [])[0];
  const parts = [make("p", `${title} `, make("code", `${type} ${schema.name || ""}`)), fields(api, schema)];
  if (example) parts.push(make("pre", typeof example === "string" ? example : JSON.stringify(example, null, 2)));
  return parts;
};
const show = (api, path, method, operation) => {
  const parts = [make("summary", make("b", method.toUpperCase()), make("code", ` ${path} `), operation.summary || "")];
  parts[0].firstChild.className = "method";
  if (operation.description) parts.push(make("p", operation.description));
  const parameters = (operation.parameters || []).map((one) =>
    make("tr", make("td", make("code", one.name + (one.required ? " *" : ""))), make("td", one.in),
      make("td", make("code", kind(api, one.schema))), make("td", one.description || "")));
  if (parameters.length) parts.push(make("table", ...parameters));
  parts.push(...body(api, "Body:", operation.requestBody && operation.requestBody.content));
  for (const [status, answer] of Object.entries(operation.responses))
    parts.push(...(status < 300 ? body(api, `${status} ${answer.description}`, answer.content)
      : [make("p", `${status} ${answer.description}`)]));
  return make("details", ...parts);
};
fetch("/openapi.json").then((answer) => answer.json()).then((api) => {
  document.getElementById("about").textContent = api.info.description;
  const groups = {};
  for (const [path, operations] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(operations))
      (groups[(operation.tags || ["Other"])[0]] ||= []).push(show(api, path, method, operation));
  document.getElementById("operations").replaceChildren(
    ...Object.entries(groups).flatMap(([name, shown]) => [make("h2", name), ...shown]));
});
