import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";

// What a person sees instead of a workspace: one sentence about what happened and one about what to do. No script, and
// nothing from outside.
export type PageName = keyof typeof PAGES;

export const PAGES = {
  malformed: {
    status: 400,
    title: "This link is incomplete",
    text: "Part of the address is missing or was changed on its way here.",
    advice: "Go back to where you found it and open your workspace from there again.",
  },
  forged: {
    status: 403,
    title: "This link is not valid",
    text: "Its signature does not match, so we cannot tell whom it was made for.",
    advice: "Go back to where you found it and open your workspace from there again.",
  },
  expired: {
    status: 410,
    title: "This link has expired",
    text: "Links to a workspace work for a few minutes only. Your files are safe.",
    advice: "Go back to where you came from and open your workspace from there: you will get a fresh link.",
  },
  signedOut: {
    status: 401,
    title: "Open your workspace from where you found it",
    text: "This browser has no access to the workspace, or no longer. Your files are safe.",
    advice: "Go back to where you came from and open your workspace from there.",
  },
  suspended: {
    status: 403,
    title: "Access is suspended",
    text: "The workspaces of this organisation cannot be opened at the moment. Your files are safe.",
    advice: "Please ask those who gave you this link.",
  },
  destroyed: {
    status: 410,
    title: "This workspace is gone",
    text: "It was closed for good, and its files were removed.",
    advice: "Go back to where you came from to start a new one.",
  },
  paused: {
    status: 200,
    title: "Your workspace is paused",
    text: "Nothing is lost: files and programs are as you left them.",
    advice: "This page comes alive by itself when the workspace is resumed.",
    refreshSeconds: 3,
  },
  starting: {
    status: 200,
    title: "Your workspace is running",
    text: "The editor is not installed on this server yet.",
    advice: "This page tries again by itself.",
    refreshSeconds: 5,
  },
  unavailable: {
    status: 502,
    title: "The workspace does not answer",
    text: "Something went wrong on our side. Your files are safe.",
    advice: "This page tries again by itself.",
    refreshSeconds: 5,
  },
  notFound: {
    status: 404,
    title: "There is nothing here",
    text: "The address leads nowhere.",
    advice: "Go back to where you came from and open your workspace from there.",
  },
  notAllowed: {
    status: 405,
    title: "This link can only be opened",
    text: "It was asked for in a way that does not open it.",
    advice: "Follow the link in a browser.",
  },
  prefetched: {
    status: 503,
    title: "Not opened in advance",
    text: "A link to a workspace is opened when somebody follows it, not before.",
    advice: "Follow the link.",
  },
  failed: {
    status: 500,
    title: "Something went wrong",
    text: "It is our fault, not yours. Your files are safe.",
    advice: "Please try again in a moment.",
  },
  previewSignedOut: {
    status: 401,
    title: "Open this preview from the workspace",
    text: "This browser has no access to the preview, or no longer.",
    advice: "Go to the workspace's ports and open it from there.",
  },
  previewPaused: {
    status: 409,
    title: "The workspace is paused",
    text: "Its web server answers again when the workspace is resumed.",
    advice: "This page tries again by itself.",
    refreshSeconds: 3,
  },
  previewSilent: {
    status: 502,
    title: "Nothing listens on this port yet",
    text: "Start your web server in the workspace's terminal.",
    advice: "This page tries again by itself.",
    refreshSeconds: 2,
  },
} as const satisfies Record<string, { status: number; title: string; text: string; advice: string; refreshSeconds?: number }>;

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

const MOORING = `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="12" cy="5" r="2.2"/><path d="M12 7.2V21M7.5 11h9M4 14.5c.6 3.8 3.9 6.5 8 6.5s7.400-2.700 8-6.5"/></svg>`;

// `frameAncestors`: who may show the page in a frame; a partner's product should be able to show what went wrong, too.
export function sendStatusPage(response: ServerResponse, name: PageName, frameAncestors = "'self'"): void {
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
    ...(page.status === 503 && { "retry-after": "1" }),
    ...(page.status === 405 && { allow: "GET" }),
  });
  response.end(response.req.method === "HEAD" ? undefined : render(name));
}

function render(name: PageName): string {
  const { title, text, advice } = PAGES[name];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${MOORING}
<h1>${title}</h1>
<p>${text}</p>
<p class="advice">${advice}</p>
</main>
</body>
</html>
`;
}
