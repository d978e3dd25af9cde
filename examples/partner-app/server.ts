// A minimal product that embeds Berth: every signed-in user has one coding session, shown in an iframe.
//   BERTH_API_KEY=berth_… node examples/partner-app/server.ts
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const berthUrl = process.env.BERTH_URL ?? "http://localhost:8080";
const port = Number(process.env.PORT ?? 3000);
const page = readFileSync(join(import.meta.dirname, "page.html"), "utf8").replace("{berth}", process.env.BERTH_PUBLIC_URL ?? berthUrl);
// Maps users to session ids. A real product stores this in its database.
const sessions = new Map<string, string>();

createServer((request, response) => {
  // A real product gets the user from its own sign-in.
  const user = "ada";
  if (request.url === "/") response.setHeader("content-type", "text/html; charset=utf-8").end(page);
  else if (request.url === "/workspace") openWorkspace(user).then(redirect, fail);
  else if (request.url === "/resume" && request.method === "POST") liveSession(user).then(() => response.writeHead(204).end(), fail);
  else response.writeHead(404).end();

  // Launch URLs are short-lived secrets: create them on demand, and never store them or write them into a page.
  function redirect(url: string) {
    response.writeHead(303, { location: url, "cache-control": "no-store", "referrer-policy": "no-referrer" }).end();
  }
  function fail(error: Error) {
    console.error(error);
    response.writeHead(502).end("The workspace is not available. Try again later.");
  }
}).listen(port, () => console.log(`http://localhost:${port}`));

async function openWorkspace(user: string): Promise<string> {
  const id = await liveSession(user);
  return (await berth("POST", `/sessions/${id}/launch-url`)).url!;
}

// Returns the user's session, resumes it if it is paused, or creates a new one.
async function liveSession(user: string): Promise<string> {
  const known = sessions.get(user);
  const { status } = known === undefined ? { status: "destroyed" } : await berth("GET", `/sessions/${known}`);
  if (status === "paused") await berth("POST", `/sessions/${known}/resume`);
  if (known !== undefined && status !== "destroyed") return known;
  const { sessionId } = await berth("POST", "/sessions", { externalUserId: user });
  sessions.set(user, sessionId!);
  return sessionId!;
}

async function berth(method: string, path: string, body?: object): Promise<{ sessionId?: string; status?: string; url?: string }> {
  const headers = { authorization: `Bearer ${process.env.BERTH_API_KEY}`, "content-type": "application/json" };
  const response = await fetch(`${berthUrl}/api/b2b${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${path} failed with ${response.status}: ${await response.text()}`);
  return (await response.json()) as object;
}
