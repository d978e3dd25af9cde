// Adds a form to every operation of the page that sends the request and shows the response. The key stays in this page: it is
// not stored, and it is sent only to this server.

const MAX_SHOWN = 64 * 1024;

const key = keyField();
for (const article of document.querySelectorAll("article[data-path]")) article.append(tryIt(article));

function keyField() {
  const input = element("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", placeholder: "berth_…" });
  const label = element("label", { for: "key" }, "API key for Try it");
  const note = element("small", {}, "It stays in this page and is gone after a reload.");
  document.querySelector("main header").append(element("p", { class: "key" }, label, input, note));
  return input;
}

function tryIt(article) {
  const { method, path } = article.dataset;
  const details = element("details", { class: "try" }, element("summary", {}, "Try it"));
  // The fields are made when a reader wants them: a page with forty forms would be slow.
  details.addEventListener(
    "toggle",
    () => details.open && details.childElementCount === 1 && details.append(requestForm(article, method, path)),
  );
  return details;
}

function requestForm(article, method, path) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => field(name, "path", "required"));
  const rows = [...article.querySelectorAll("[data-parameter]")].map((row) =>
    field(row.dataset.parameter, row.dataset.in, row.dataset.required),
  );
  const takesBody = article.querySelector("[data-request]");
  const body = takesBody ? element("textarea", { rows: "6", "aria-label": "Body", spellcheck: "false" }) : null;
  if (body) body.value = takesBody.querySelector("pre")?.textContent ?? "";
  const output = element("output", {});
  const form = element(
    "form",
    {},
    ...[...inPath, ...rows].map(({ label }) => label),
    ...(body ? [body] : []),
    element("button", {}, "Send"),
    output,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send({ method, path, inPath, rows, body: body?.value, media: takesBody?.dataset.request }, output);
  });
  return form;
}

function field(name, place, required) {
  const input = element("input", { name, spellcheck: "false", autocomplete: "off", ...(required === "required" && { required: "" }) });
  return { name, place, input, label: element("label", {}, `${name} `, input) };
}

async function send({ method, path, inPath, rows, body, media }, output) {
  let target = path;
  for (const { name, input } of inPath) target = target.replace(`{${name}}`, encodeURIComponent(input.value));
  const given = rows.filter(({ input }) => input.value !== "");
  const query = new URLSearchParams(given.filter(({ place }) => place === "query").map(({ name, input }) => [name, input.value]));
  const headers = new Headers(given.filter(({ place }) => place === "header").map(({ name, input }) => [name, input.value]));
  if (key.value !== "") headers.set("authorization", `Bearer ${key.value.trim()}`);
  if (body && media) headers.set("content-type", media);
  const url = query.size > 0 ? `${target}?${query.toString()}` : target;
  output.replaceChildren(element("p", {}, "Sending …"));
  try {
    const response = await fetch(url, { method: method.toUpperCase(), headers, credentials: "omit", ...(body && { body }) });
    await show(response, `${method.toUpperCase()} ${url}`, output);
  } catch (error) {
    output.replaceChildren(element("p", {}, `The request failed: ${error.message}`));
  }
}

// Shows a stream as it arrives.
async function show(response, request, output) {
  const body = element("pre", {});
  const code = response.headers.get("x-error-code");
  const status = `${request} → ${response.status}${code ? ` ${code}` : ""}`;
  output.replaceChildren(element("p", { class: response.ok ? "success" : "failure" }, status), body);
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of chunksOf(response)) {
    text += decoder.decode(chunk, { stream: true });
    body.textContent = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
    if (text.length > MAX_SHOWN) return;
  }
  if (isJson) body.textContent = JSON.stringify(JSON.parse(text), null, 2);
}

// Not every browser can iterate over a stream. Leaving the loop cancels the response.
async function* chunksOf({ body }) {
  const reader = body?.getReader();
  try {
    for (let part = await reader?.read(); part && !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}
