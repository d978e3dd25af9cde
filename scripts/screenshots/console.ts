import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Berth } from "../../tests/support/servers/berth.ts";
import { createApi } from "../../tests/support/servers/api.ts";
import { runCliForJson } from "../../tests/support/servers/cli.ts";

const USERS = ["ada", "grace", "edsger", "barbara", "donald", "margaret", "alan", "katherine"];
// Outlives the command, so that there is something to see.
const BUSY =
  "setsid node -e 'const a = Buffer.alloc(4e8, 1); setInterval(() => { for (const end = Date.now() + 60; Date.now() < end;); }, 150)' > /dev/null 2>&1 &";
const PAUSED = ["edsger", "donald"];

// The pictures of the console, with sessions of two partners.
export async function takeConsolePictures(berth: Berth, browser: Browser, folder: string): Promise<void> {
  const { key: harbour } = await runCliForJson<{ key: { key: string } }>(berth, "partner", "create", "harbour", "--max-sessions", "20");
  const { token } = await runCliForJson<{ token: { token: string } }>(berth, "console", "token", "--name", "Ada");
  const apis = [berth.api, createApi(berth.url, harbour.key)];
  const sessions = new Map<string, string>();
  for (const [at, name] of USERS.entries()) {
    const api = apis[at % apis.length]!;
    const metadata = { course: at % 2 === 0 ? "algorithms" : "compilers" };
    const { sessionId, sandboxId } = await api.create({ externalUserId: `${name}@example.org`, metadata, autoStartAgent: false });
    sessions.set(name, sessionId);
    if (name === "ada") await api.exec(sandboxId, BUSY);
    if (PAUSED.includes(name)) await api.call("POST", `/api/b2b/sessions/${sessionId}/pause`);
  }

  const pictures: { name: string; path: string; colorScheme: "light" | "dark"; until: (page: Page) => Promise<unknown> }[] = [
    { name: "console-sessions", path: "/sessions", colorScheme: "light", until: (page) => page.locator(".table-row").nth(7).waitFor() },
    {
      name: "console-session",
      path: `/sessions/${sessions.get("ada")!}`,
      colorScheme: "dark",
      until: (page) => page.getByRole("progressbar", { name: "CPU" }).waitFor(),
    },
  ];
  for (const { name, path, colorScheme, until } of pictures) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, deviceScaleFactor: 1.5, colorScheme });
    page.setDefaultTimeout(120_000);
    await page.goto(`${berth.url}/console${path}`);
    await page.getByLabel("Operator token").fill(token.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await until(page);
    await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled", caret: "hide" });
    await page.close();
    console.log(`docs/images/${name}.png`);
  }
  for (const [at, name] of USERS.entries()) await apis[at % apis.length]!.call("DELETE", `/api/b2b/sessions/${sessions.get(name)!}`);
}
