import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { htmlPage } from "../../html-page.ts";

// The pages that a browser shows instead of a workspace: what happened and what to do next. They contain no scripts and
// load nothing.
export type PageName = keyof typeof PAGES;

const PAGES = {
  malformed: {
    status: 400,
    title: "This link is incomplete",
    text: "Part of the address is missing or has changed.",
    advice: "Go back to the page where you found the link and open your workspace again.",
  },
  forged: {
    status: 403,
    title: "This link is not valid",
    text: "Its signature does not match, so it cannot open a workspace.",
    advice: "Go back to the page where you found the link and open your workspace again.",
  },
  expired: {
    status: 410,
    title: "This link has expired",
    text: "Links to a workspace work for a few minutes only. Your files are safe.",
    advice: "Go back to the page where you found the link and open your workspace again. You will get a new link.",
  },
  signedOut: {
    status: 401,
    title: "This browser has no access to the workspace",
    text: "It was never given access, or its access has expired. Your files are safe.",
    advice: "Go back to the page you came from and open your workspace again.",
  },
  suspended: {
    status: 403,
    title: "Access is suspended",
    text: "This organisation's workspaces cannot be opened at the moment. Your files are safe.",
    advice: "Contact the organisation that gave you the link.",
  },
  destroyed: {
    status: 410,
    title: "This workspace no longer exists",
    text: "It was closed permanently and its files were deleted.",
    advice: "Go back to the page you came from to start a new workspace.",
  },
  paused: {
    status: 200,
    title: "Your workspace is paused",
    text: "Your files and programs are as you left them.",
    advice: "This page opens the workspace automatically when it is resumed.",
    refreshSeconds: 3,
  },
  noRoom: {
    status: 503,
    title: "There is no room for your workspace right now",
    text: "It is paused, and other workspaces use all the memory of the server. Your files are safe.",
    advice: "This page retries automatically.",
    refreshSeconds: 10,
  },
  editorMissing: {
    status: 200,
    title: "Your workspace is running",
    text: "The editor is not installed on this server yet.",
    advice: "This page retries automatically.",
    refreshSeconds: 5,
  },
  unavailable: {
    status: 502,
    title: "The workspace does not respond",
    text: "Something went wrong on our side. Your files are safe.",
    advice: "This page retries automatically.",
    refreshSeconds: 5,
  },
  notFound: {
    status: 404,
    title: "Page not found",
    text: "There is no page at this address.",
    advice: "Go back to the page you came from and open your workspace again.",
  },
  notAllowed: {
    status: 405,
    title: "Open this link in a browser",
    text: "This address can only be opened as a page.",
    advice: "Paste the link into the address bar of your browser.",
  },
  prefetched: {
    status: 503,
    title: "This link cannot be preloaded",
    text: "A link to a workspace works only when someone opens it.",
    advice: "Open the link.",
  },
  failed: {
    status: 500,
    title: "Something went wrong",
    text: "The problem is on our side. Your files are safe.",
    advice: "Try again in a moment.",
  },
  previewSignedOut: {
    status: 401,
    title: "Open this preview from the workspace",
    text: "This browser has no access to the preview, or its access has expired.",
    advice: "Open the preview from the list of ports in the workspace.",
  },
  previewPaused: {
    status: 409,
    title: "The workspace is paused",
    text: "The preview is available again when the workspace is resumed.",
    advice: "This page retries automatically.",
    refreshSeconds: 3,
  },
  previewAsleep: {
    status: 409,
    title: "The workspace is paused",
    text: "The preview is available again when the workspace is resumed.",
    advice: "Open the workspace, or reload this page, to resume it.",
    refreshSeconds: 3,
  },
  previewNoServer: {
    status: 502,
    title: "No server is listening on this port",
    text: "Start your web server in a terminal of the workspace.",
    advice: "This page retries automatically.",
    refreshSeconds: 2,
  },
} as const satisfies Record<string, { status: number; title: string; text: string; advice: string; refreshSeconds?: number }>;

// `frameAncestors` is a CSP source list. Partners' products embed workspaces, so their frames must show these pages too.
export function sendStatusPage(response: ServerResponse, name: PageName, frameAncestors: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const page: { status: number; refreshSeconds?: number } = PAGES[name];
  response.writeHead(page.status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors ${frameAncestors}`,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(page.refreshSeconds && { refresh: String(page.refreshSeconds) }),
    ...(page.status === 503 && { "retry-after": String(page.refreshSeconds ?? 1) }),
    ...(page.status === 405 && { allow: "GET" }),
  });
  response.end(response.req.method === "HEAD" ? undefined : render(name));
}

const STYLE = `
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --ink: #16181d; --soft: #5b6270; --line: #e3e6eb; --accent: #2f6fed; }
@media (prefers-color-scheme: dark) { :root { --ground: #101216; --card: #181b21; --ink: #eceef2; --soft: #9aa2b1; --line: #2a2f38; --accent: #7aa5ff; } }
* { box-sizing: border-box; margin: 0; }
body { min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { width: 100%; max-width: 30rem; padding: 2.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 14px;
  box-shadow: 0 1px 2px rgb(0 0 0 / .05), 0 12px 32px rgb(0 0 0 / .06); }
svg { width: 2.25rem; height: 2.25rem; color: var(--accent); margin-bottom: 1.1rem; display: block; }
h1 { font-size: 1.3rem; line-height: 1.3; letter-spacing: -.01em; text-wrap: balance; }
p { margin-top: .7rem; color: var(--soft); text-wrap: pretty; }
p.advice { color: var(--ink); }
`;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

const ANCHOR_ICON = `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="12" cy="5" r="2.2"/><path d="M12 7.2V21M7.5 11h9M4 14.5c.6 3.8 3.9 6.5 8 6.5s7.400-2.700 8-6.5"/></svg>`;

function render(name: PageName): string {
  const { title, text, advice } = PAGES[name];
  const body = `<main>\n${ANCHOR_ICON}\n<h1>${title}</h1>\n<p>${text}</p>\n<p class="advice">${advice}</p>\n</main>`;
  return htmlPage({ title, head: `<meta name="robots" content="noindex">\n<style>${STYLE}</style>`, body });
}
