import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Session } from "@berth/contract";
import type { PreviewLink } from "@berth/contract/workspace/workspace.ts";
import { eventually } from "../support/browser/workspace.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";

describeOnSharedServer("the preview of a development server", (suite) => {
  let session: Session;
  let workspace: Page;

  beforeAll(async () => {
    const { berth, browser } = suite;
    session = await berth.api.create();
    await berth.api.writeFile(session.sandboxId, "vite.tar", packPackage("vite"));
    await berth.api.writeFile(session.sandboxId, "index.html", '<h1 id="greeting"></h1><script type="module" src="/main.js"></script>');
    await berth.api.writeFile(session.sandboxId, "greeting.js", 'export const greeting = "first";');
    await berth.api.writeFile(session.sandboxId, "main.js", MAIN);
    await berth.api.exec(session.sandboxId, "tar xf vite.tar && rm vite.tar");
    const { body } = await berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/launch-url`);
    workspace = await (await browser.newContext()).newPage();
    await workspace.goto((body as { url: string }).url);
  });
  afterAll(() => suite.berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`));

  // Creates a preview link like the ports panel.
  const linkTo = (port: number, path = "/"): Promise<PreviewLink> =>
    workspace.evaluate(
      ([address, body]) => fetch(address!, { method: "POST", body: body! }).then((response) => response.json() as Promise<PreviewLink>),
      [`/workspace/${session.sandboxId}/preview`, JSON.stringify({ port, path })],
    );

  test("shows a waiting page until a server listens, then shows the server", async () => {
    const page = await workspace.context().newPage();
    const response = await page.goto((await linkTo(5173)).url);
    expect([response!.status(), await page.locator("h1").textContent()]).toEqual([502, "No server is listening on this port"]);
    await suite.berth.api.exec(session.sandboxId, `(${VITE} >vite.log 2>&1 &)`);
    // Vite may take half a minute to start in a sandbox while other tests run.
    const greeting = () =>
      page
        .locator("#greeting")
        .textContent({ timeout: 1000 })
        .catch(() => "");
    await expect.poll(greeting, { timeout: 90_000 }).toBe("first");
    expect(new URL(page.url()).host).toBe(`5173-${session.sandboxId.replace("_", "-")}.${new URL(suite.berth.url).host}`);
  });

  test("supports hot module replacement", async () => {
    const page = await workspace.context().newPage();
    // The page must be connected to the development server before the file changes.
    const connected = page.waitForEvent("websocket").then((socket) => socket.waitForEvent("framereceived"));
    await page.goto((await linkTo(5173)).url);
    await eventually(() => page.locator("#greeting").textContent()).toBe("first");
    await connected;
    await page.evaluate("window.stayed = true");
    await suite.berth.api.writeFile(session.sandboxId, "greeting.js", 'export const greeting = "second";');
    await eventually(() => page.locator("#greeting").textContent()).toBe("second");
    expect(await page.evaluate("window.stayed")).toBe(true);
  });

  test("works in a frame of the workspace and cannot access the workspace", async () => {
    const { url } = await linkTo(5173);
    await workspace.evaluate(
      `document.body.append(Object.assign(document.createElement("iframe"), { src: ${JSON.stringify(url)}, id: "preview" }))`,
    );
    const frame = workspace.frameLocator("#preview");
    await eventually(() => frame.locator("#greeting").textContent()).toBe("second");
    const inside = workspace.frames().find((candidate) => candidate.url().includes("5173-"))!;
    expect(await inside.evaluate(`(() => { try { return parent.document.title } catch { return "blocked" } })()`)).toBe("blocked");
    const stolen = `fetch(${JSON.stringify(`${suite.berth.url}/workspace/${session.sandboxId}/session`)}, { credentials: "include" })`;
    expect(await inside.evaluate(`${stolen}.then((answer) => answer.status, () => "blocked")`)).toBe("blocked");
    expect(await inside.evaluate("document.cookie")).toBe("");
  });

  test("is refused to a browser without the cookie or with a forged link", async () => {
    const page = await (await suite.browser.newContext()).newPage();
    const { url } = await linkTo(5173);
    expect((await page.goto(new URL("/", url).href))!.status()).toBe(401);
    expect((await page.goto(url.replace("sig=", "sig=A")))!.status()).toBe(401);
    expect(await page.locator("h1").textContent()).toBe("Open this preview from the workspace");
  });
});

const MAIN = `
import { greeting } from "./greeting.js";
document.querySelector("#greeting").textContent = greeting;
import.meta.hot.accept("./greeting.js", (next) => (document.querySelector("#greeting").textContent = next.greeting));
`;

const VITE = "/opt/berth/bin/node node_modules/vite/bin/vite.js --port 5173 --strictPort";

// Packs an installed package with its dependencies, because the sandbox cannot reach a registry.
function packPackage(name: string): Buffer {
  const root = join(import.meta.dirname, "../..");
  const found = new Set<string>();
  collect(name);
  const { stdout, status } = spawnSync("tar", ["cf", "-", ...found], { cwd: root, maxBuffer: 200_000_000 });
  if (status !== 0) throw new Error("tar failed");
  return stdout;

  function collect(dependency: string): void {
    const folder = `node_modules/${dependency}`;
    if (found.has(folder) || !existsSync(join(root, folder))) return;
    found.add(folder);
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Record<
      string,
      object
    >;
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) collect(next);
  }
}
