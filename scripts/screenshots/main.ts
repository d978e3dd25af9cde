// `npm run screenshots` takes the pictures in docs/images with a real server, real sandboxes, a real agent and a real
// browser. Only the model is scripted.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startBerth } from "../../tests/support/servers/berth.ts";
import { launchChromium, openWorkspace, type OpenedWorkspace, type WorkspaceOptions } from "../../tests/support/browser/workspace.ts";
import { startModelServer } from "../../tests/support/agents/model-server.ts";
import { takeConsolePictures } from "./console.ts";
import { takeExamplePictures } from "./examples.ts";
import { takeDocsPictures } from "./docs.ts";
import { files, modelReplies, mineOnTop, theirs } from "./demo.ts";

const folder = join(import.meta.dirname, "../../docs/images");
await mkdir(folder, { recursive: true });

await using model = await startModelServer();
await using berth = await startBerth({
  BERTH_MODEL_PROVIDER: "openai",
  BERTH_MODEL_BASE_URL: `${model.url}/v1`,
  BERTH_MODEL_API_KEY: "not-a-real-key",
  BERTH_MODEL_NAME: "scripted",
});
await using cleanup = new AsyncDisposableStack();
const browser = await launchChromium();
cleanup.defer(() => browser.close());

{
  const page = await browser.newPage({ viewport: { width: 900, height: 600 } });
  await page.goto(berth.url);
  await page.screenshot({ path: join(folder, "start.png") });
  await page.close();
}

await picture("workspace-light", {}, async ({ page }) => {
  await openSource(page);
  await inTerminal(page, "node --test\n", "pass 2");
});

await picture("workspace-dark", { context: { colorScheme: "dark" } }, async ({ page }) => {
  await openSource(page);
  await page.getByRole("button", { name: "Agent", exact: true }).click();
  model.title = "Next low water";
  model.script = modelReplies();
  await page.getByRole("textbox", { name: "Message to the agent" }).fill("Also compute the next low water, with a test");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("upside down", { exact: false }).last().waitFor();
  await page.getByRole("button", { name: "Send" }).waitFor();
});

await picture("conflict", {}, async (workspace) => {
  const { page } = workspace;
  await page.getByRole("button", { name: "Autosave: on" }).click();
  await openSource(page);
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type(mineOnTop);
  await workspace.write("src/tides.js", theirs);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator(".cm-mergeView").waitFor();
});

await picture("preview", {}, async ({ page }) => {
  await openSource(page);
  await inTerminal(page, "node src/server.js\n", "listening");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.getByRole("button", { name: "Port 3000" }).click();
  await page.getByRole("button", { name: "Preview port 3000 here" }).click();
  await page.frameLocator("iframe").getByRole("heading").waitFor();
});

await picture("commands", { context: { colorScheme: "dark" } }, async ({ page }) => {
  await openSource(page);
  await page.keyboard.press("F1");
  await page.getByRole("option").first().waitFor();
});

await picture("search", {}, async ({ page }) => {
  await openSource(page);
  await page.keyboard.press("Control+Shift+F");
  await page.getByRole("textbox", { name: "Search in files" }).fill("height");
  await page.getByText(/matches in/).waitFor();
});

await picture("changes", {}, async (workspace) => {
  const { page } = workspace;
  const author = "git config --global user.name Ada; git config --global user.email ada@example.test";
  await workspace.exec(`${author}; git init -q -b main; git add .; git commit -qm "Compute the tides"`);
  await openSource(page);
  await workspace.write("src/tides.js", theirs);
  await workspace.exec("echo 'Times are in UTC.' >> README.md; git add README.md");
  await page.getByRole("button", { name: "Changes", exact: true }).click();
  await page.locator(".git-row").nth(1).waitFor();
  await page.getByRole("textbox", { name: "Commit message" }).fill("Say which time is meant");
  await page.locator(".cm-git-mark").first().click();
});

await picture("paused", {}, async ({ page, session }) => {
  await openSource(page);
  await berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
  await page.getByRole("heading", { name: "This session is paused" }).waitFor();
});

await picture("phone", { context: { viewport: { width: 390, height: 760 } } }, async ({ page }) => {
  await page.locator(".cm-content").waitFor();
});

await takeConsolePictures(berth, browser, folder);
await takeExamplePictures(browser, folder);
await takeDocsPictures(berth.url, browser, folder);

async function picture(
  name: string,
  { context, ...options }: WorkspaceOptions,
  arrange: (workspace: OpenedWorkspace) => Promise<void>,
): Promise<void> {
  await using workspace = await openWorkspace(berth, browser, { files, ...options, context: { deviceScaleFactor: 1.5, ...context } });
  // A busy machine takes its time.
  workspace.page.setDefaultTimeout(120_000);
  await arrange(workspace);
  // Wait until the panels that were just opened have settled.
  await workspace.page.waitForTimeout(600);
  await workspace.page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled", caret: "hide" });
  console.log(`docs/images/${name}.png`);
}

async function openSource(page: Page): Promise<void> {
  await page.getByRole("treeitem", { name: "src", exact: true }).click();
  await page.getByRole("treeitem", { name: "tides.js", exact: true }).dblclick();
  await page.getByLabel("Text of src/tides.js").waitFor();
}

async function inTerminal(page: Page, command: string, until: string): Promise<void> {
  await page.getByText("$").last().waitFor();
  await page.locator(".xterm-helper-textarea").first().focus();
  await page.keyboard.type(command);
  await page.locator(".xterm-rows").getByText(until).first().waitFor();
}
