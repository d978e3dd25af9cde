import type { Found } from "./search-index.ts";

const MAX_RESULTS = 30;
const SNIPPET_LENGTH = 160;

// Search in a dialog: a combobox with a list of sections. Ctrl+K and / open it.
export function wireSearch(): void {
  const dialog = document.querySelector<HTMLDialogElement>("#search")!;
  const input = dialog.querySelector("input")!;
  const list = dialog.querySelector<HTMLElement>("[role=listbox]")!;
  const hint = dialog.querySelector(".hint")!;
  let index: Promise<(query: string) => Found[]> | undefined;
  let selected = -1;

  document.querySelector("#open-search")!.addEventListener("click", openDialog);
  document.addEventListener("keydown", (event) => {
    const isTyping = (event.target as Element).closest("input, textarea, select") !== null;
    if (!((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping))) return;
    event.preventDefault();
    openDialog();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || (event.target as Element).closest("a")) dialog.close();
  });
  input.addEventListener("input", () => void show(input.value.trim()));
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const options = [...list.querySelectorAll<HTMLElement>("[role=option]")];
    if (step !== undefined && options.length > 0) {
      event.preventDefault();
      select((selected + step + options.length) % options.length);
    }
    if (event.key === "Enter") options[selected]?.click();
  });

  function openDialog(): void {
    if (dialog.open) return;
    index ??= import("./search-index.ts").then(({ loadIndex }) => loadIndex(dialog.dataset.sections!));
    index.catch(() => (index = undefined));
    dialog.showModal();
    input.select();
  }

  async function show(query: string): Promise<void> {
    let found: Found[] = [];
    try {
      found = query === "" ? [] : ((await index)?.(query) ?? []).slice(0, MAX_RESULTS);
    } catch {
      hint.textContent = "Search could not load. Reload the page and try again.";
      return;
    }
    // The reader has typed on.
    if (input.value.trim() !== query) return;
    list.replaceChildren(...found.map(optionOf));
    hint.textContent = query === "" ? "Type to search all pages. Nothing leaves this server." : countOf(found.length, query);
    input.setAttribute("aria-expanded", String(found.length > 0));
    select(found.length > 0 ? 0 : -1);
  }

  function select(position: number): void {
    selected = position;
    for (const [at, option] of list.querySelectorAll("[role=option]").entries()) {
      option.setAttribute("aria-selected", String(at === position));
      if (at === position) option.scrollIntoView({ block: "nearest" });
    }
    if (position < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `result-${position}`);
  }
}

const countOf = (count: number, query: string): string =>
  count === 0 ? `Nothing found for “${query}”.` : count === 1 ? "1 result" : `${count === MAX_RESULTS ? "The first " : ""}${count} results`;

function optionOf({ section, terms }: Found, position: number): HTMLElement {
  const option = element("a", { role: "option", id: `result-${position}`, href: section.url, tabindex: "-1" });
  option.append(element("b", {}, section.title || section.page), element("small", {}, section.title ? section.page : ""));
  const snippet = element("span", {});
  snippet.append(...markTerms(snippetOf(section.text, terms), terms));
  option.append(snippet);
  return option;
}

// The text around the first term.
function snippetOf(text: string, terms: readonly string[]): string {
  const first = text.search(patternOf(terms));
  const start = first > SNIPPET_LENGTH / 2 ? text.indexOf(" ", first - SNIPPET_LENGTH / 3) + 1 : 0;
  const end = start + SNIPPET_LENGTH;
  return `${start > 0 ? "… " : ""}${text.slice(start, end)}${end < text.length ? " …" : ""}`;
}

const markTerms = (text: string, terms: readonly string[]): (string | HTMLElement)[] =>
  text.split(patternOf(terms)).map((part, index) => (index % 2 === 1 ? element("mark", {}, part) : part));

// Words that begin with a term, longer terms first. Terms consist of letters, digits and underscores.
function patternOf(terms: readonly string[]): RegExp {
  const longestFirst = terms.toSorted((one, other) => other.length - one.length);
  return new RegExp(String.raw`(?<![\p{L}\p{N}_])(${longestFirst.join("|")})`, "iu");
}

function element(name: string, attributes: Record<string, string>, text = ""): HTMLElement {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.textContent = text;
  return created;
}
