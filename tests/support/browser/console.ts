import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Session } from "@berth/contract";
import { sessionRow } from "../../../server/store/testing/session-row.ts";
import type { BrowserSuite } from "./browser-suite.ts";
import { expectVisible } from "./workspace.ts";

export interface OpenedConsole extends AsyncDisposable {
  page: Page;
}

// Opens a page of the console in a context of its own. Faults of the page fail the test.
export async function openConsole(
  { berth, browser }: BrowserSuite,
  path: string,
  options: BrowserContextOptions = {},
): Promise<OpenedConsole> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => faults.push(dialog.message()));
  await page.goto(berth.url + path);
  return {
    page,
    async [Symbol.asyncDispose]() {
      await context.close();
      expect(faults).toEqual([]);
    },
  };
}

export async function signIn(page: Page, label: string, secret: string): Promise<void> {
  await page.getByLabel(label).fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expectVisible(page.getByRole("navigation", { name: "Pages" }));
}

const MAX_TABS = 80;

// Moves the focus there with the Tab key.
export async function tabTo(page: Page, target: Locator): Promise<void> {
  // Finding it again after each key would take longer than the key press.
  const found = (await target.elementHandle())!;
  for (let tabs = 0; tabs < MAX_TABS; tabs++) {
    if (await found.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`The Tab key does not reach ${String(target)}`);
}

// Adds sessions that are destroyed already, so that the server leaves them alone.
export function insertSessions({ berth }: BrowserSuite, many: number): void {
  const database = new DatabaseSync(join(berth.dataDir, "berth.db"));
  database.exec("pragma busy_timeout = 30000; begin immediate");
  const startMs = Date.now() - 3_600_000;
  const columns = Object.keys(sessionRow(startMs));
  const insert = database.prepare(`insert into sessions (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`);
  for (let at = 0; at < many; at++) {
    const atMs = startMs + at;
    const times = { expires_at: null, created_at: atMs, updated_at: atMs, destroyed_at: atMs + 1 };
    const row = sessionRow(atMs, { partner_id: "demo", external_user_id: `user-${at}`, state: "destroyed", ...times });
    insert.run(...(Object.values(row) as string[]));
  }
  database.exec("commit");
  database.close();
}

// Shows another page of the console like a link in it. The document stays, so axe need not be loaded and compiled again.
export const follow = (page: Page, path: string) =>
  page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)}), dispatchEvent(new PopStateEvent("popstate"))`);

// Opens the workspace in a browser, and asks for a host that no sandbox may reach.
export async function useSession({ berth, browser }: BrowserSuite, { sessionId, sandboxId }: Session): Promise<void> {
  const { url } = (await berth.api.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`, { displayName: "Ada Lovelace" })).body as {
    url: string;
  };
  // The server counts the visit; the page itself is not needed.
  await using page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(url);
  await berth.api.exec(sandboxId, "curl -s http://192.0.2.7/ || true");
}
