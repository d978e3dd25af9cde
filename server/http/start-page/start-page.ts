import { escapeHtml, htmlPage } from "../../html-page.ts";

// The page at `/`. It has no scripts and loads only its style.
export interface StartPage {
  isReady: boolean;
  // How a workspace is opened from here; null if it is not, because the server is for others.
  opening: Opening | null;
}

export type Opening =
  // With one template there is no choice.
  | { how: "button"; templates: readonly string[] }
  // This browser is not the operator's.
  | { how: "command" };

export function renderStartPage({ isReady, opening }: StartPage): string {
  return page(
    "Berth",
    `<p class="health ${isReady ? "good" : "bad"}">${isReady ? "Healthy" : "Not ready: the database does not answer"}</p>
<p>This server gives every user of a product a coding session: an isolated sandbox with files, terminals and a coding agent, opened
in the browser.</p>
${opening ? openingPart(opening) : ""}
<ul>
<li><a href="/docs">Documentation</a>: guides, concepts and troubleshooting</li>
<li><a href="/docs/api">API reference</a>: every call, with examples</li>
<li><a href="/api/b2b/docs">OpenAPI description</a>: to generate a client</li>
<li><a href="/console">Console</a>: sessions, partners and the health of this server, for its operator</li>
<li><a href="/console/partner">Partner console</a>: your own sessions, keys and usage, with an API key</li>
</ul>`,
  );
}

// Says why a workspace could not be opened.
export function renderOpenFailure(reason: string): string {
  return page("The workspace could not be opened", `<p>${escapeHtml(reason)}.</p>\n<p><a href="/">Back</a></p>`);
}

function openingPart(opening: Opening): string {
  if (opening.how === "command") return `<p>To open a workspace, run <code>npx berth open</code> as the user that runs the server.</p>`;
  const { templates } = opening;
  const choice = `<label>Template <select name="template">${templates.map((name) => `<option>${escapeHtml(name)}</option>`).join("")}</select></label>`;
  return `<form method="post" action="/open">
${templates.length > 1 ? choice : ""}
<button>Open a workspace</button>
<p class="hint">Creates a session of the partner <code>demo</code> and opens it here.</p>
</form>`;
}

const page = (title: string, content: string): string =>
  htmlPage({
    title,
    head: `<meta name="color-scheme" content="light dark">\n<link rel="stylesheet" href="/start-page.css">`,
    body: `<main>\n<h1>${title}</h1>\n${content}\n</main>`,
  });
