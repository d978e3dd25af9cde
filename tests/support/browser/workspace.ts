import { randomUUID } from "node:crypto";
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";
import type { IssueLaunchUrl, Session } from "@berth/contract";
import type { Berth } from "../servers/berth.ts";
import { installed } from "../machine.ts";

// Chromium's own pages for the address bar, which every new browser context loads although it shows none. They cost more
// processor time than the workspace.
const ADDRESS_BAR_PAGES = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup"];
// The features that Playwright disables. Chromium reads only the last --disable-features, so the list is repeated here.
const DISABLED_BY_PLAYWRIGHT = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
];

export function launchChromium(extra: string[] = []): Promise<Browser> {
  const disabled = `--disable-features=${[...ADDRESS_BAR_PAGES, ...DISABLED_BY_PLAYWRIGHT].join(",")}`;
  // Chromium refuses to run its own sandbox as root, and a container's /dev/shm is too small for it.
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", disabled, ...extra];
  return chromium.launch({ args, ...(installed.chromium !== undefined && { executablePath: installed.chromium }) });
}

// Names the shared browser for leaks.ts.
const SHARED_BROWSER_FLAG = "--berth-shared-browser";
let sharedBrowser: Promise<Browser> | undefined;

// The browser of all suites that this worker runs, because a browser of its own would cost each of them half a second of processor
// time. It ends with the worker.
export function shareChromium(): Promise<Browser> {
  return (sharedBrowser ??= launchChromium([SHARED_BROWSER_FLAG]).then((browser) =>
    browser.on("disconnected", () => (sharedBrowser = undefined)),
  ));
}

// A session with files whose workspace is open in a browser.
export interface OpenedWorkspace extends AsyncDisposable {
  session: Session;
  page: Page;
  // Issues a new launch URL, for a person if one is named.
  link(person?: IssueLaunchUrl): Promise<string>;
  exec(command: string): Promise<string>;
  write(path: string, text: string | Uint8Array): Promise<void>;
  read(path: string): Promise<string | null>;
  // Opens the same workspace in a separate browser context, like another person.
  another(person?: IssueLaunchUrl, context?: BrowserContextOptions): Promise<Page>;
}

export interface WorkspaceOptions {
  files?: Record<string, string | Uint8Array>;
  create?: object;
  context?: BrowserContextOptions;
  // Do not open the page yet.
  closed?: boolean;
  // Opens it in this page, which has loaded and compiled the workspace for another session already. That halves the cost.
  page?: Page;
}

// A page in a browser context of its own.
export async function newWorkspacePage(browser: Browser, context: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, ...context })).newPage();
  page.setDefaultTimeout(30_000);
  return page;
}

export async function openWorkspace(
  berth: Pick<Berth, "api">,
  browser: Browser,
  { files = {}, create = {}, context = {}, closed = false, page: used }: WorkspaceOptions = {},
): Promise<OpenedWorkspace> {
  // A user of its own, because the settings of a user follow to the next session.
  const session = await berth.api.create({ externalUserId: `user-${randomUUID()}`, ...create });
  for (const [path, text] of Object.entries(files)) await berth.api.writeFile(session.sandboxId, path, text);
  const faults: string[] = [];
  const contexts: BrowserContext[] = [];
  const onFault = (error: Error) => void faults.push(error.stack ?? error.message);

  async function newPage(own: BrowserContextOptions = {}): Promise<Page> {
    const page = await newWorkspacePage(browser, { ...context, ...own });
    contexts.push(page.context());
    return page.on("pageerror", onFault);
  }
  const link = async (person?: IssueLaunchUrl) => {
    const { body } = await berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/launch-url`, person);
    return (body as { url: string }).url;
  };
  const page = used?.on("pageerror", onFault) ?? (await newPage());
  if (!closed) await page.goto(await link());

  return {
    session,
    page,
    link,
    async exec(command) {
      return (await berth.api.exec(session.sandboxId, command)).stdout;
    },
    write: (path, text) => berth.api.writeFile(session.sandboxId, path, text),
    read: async (path) => (await berth.api.readFile(session.sandboxId, path))?.toString() ?? null,
    async another(person, own) {
      const other = await newPage(own);
      await other.goto(await link(person));
      return other;
    },
    async [Symbol.asyncDispose]() {
      await used?.off("pageerror", onFault).goto("about:blank");
      for (const opened of contexts) await opened.close();
      await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
      expect(faults).toEqual([]);
    },
  };
}

// The parts of the page.
export const treeItem = (page: Page, name: string): Locator => page.getByRole("treeitem", { name, exact: true });
export const tab = (page: Page, name: string): Locator => page.getByRole("tablist", { name: "Open files" }).getByRole("tab", { name });
export const EDITOR = ".text-editor .cm-content";
export const editor = (page: Page): Locator => page.locator(EDITOR);
export const terminal = (page: Page): Locator => page.locator(".terminal-view .xterm-rows").first();

// Opens a file to work on it. A single click would only show it. By its key, because rows move while the tree learns of new files, and
// the second click of a double click could hit another one.
export async function openFile(page: Page, name: string): Promise<void> {
  await treeItem(page, name).press("Enter");
  await page.getByLabel(`Text of ${name}`).waitFor();
}

// Closes the tabs of all editor groups when their texts are saved.
export async function closeTabs(page: Page): Promise<void> {
  const tabs = page.getByRole("tablist", { name: /^Open files/ }).getByRole("tab");
  await expectGone(page.getByRole("tab", { name: /\(unsaved\)$/ }));
  for (let left = await tabs.count(); left > 0; left--) {
    await tabs.last().click({ button: "middle" });
    await expectGone(tabs.nth(left - 1));
  }
}

export async function showFiles(page: Page): Promise<void> {
  const panel = page.getByRole("complementary", { name: "files" });
  if ((await panel.count()) === 0) await page.getByRole("navigation", { name: "Views" }).getByRole("button", { name: "Files" }).click();
  await expectVisible(panel);
}

export async function typeAtStart(page: Page, text: string): Promise<void> {
  await editor(page).click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type(text);
}

export const hasFocus = async (what: Locator): Promise<boolean> => (await what.and(what.page().locator(":focus")).count()) > 0;

// Polls patiently, because browser, server and sandbox may share two cores, and seldom, because each look costs all of them time.
export function eventually<T>(look: () => T) {
  return expect.poll(look, { timeout: 30_000, interval: 100 });
}

export const expectVisible = (what: Locator) => what.waitFor();
export const expectGone = (what: Locator) => what.first().waitFor({ state: "detached" });

export const focusIsIn = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate<boolean>(`document.activeElement?.closest(${JSON.stringify(selector)}) != null`);

// Enters a line into the terminal as soon as it shows a prompt. Its text arrives at once, because the browser draws a frame for
// each key.
export async function typeInTerminal(page: Page, line: string): Promise<void> {
  await eventually(() => screenText(page)).toMatch(/[$#%>] ?$/m);
  await page.locator(".terminal-view .xterm-helper-textarea").first().focus();
  await page.keyboard.insertText(line.trimEnd());
  await page.keyboard.press("Enter");
}

// The text of the terminal, row by row.
export const screenText = async (page: Page): Promise<string> =>
  (await terminal(page).locator("> div").allTextContents())
    .map((row) => row.replaceAll("\u00a0", " ").trimEnd())
    .join("\n")
    .trimEnd();

// Clicks a text on the terminal's screen. A link is found when the pointer comes from another row. Rows move when a bar of the terminal closes,
// and xterm does not look again until the pointer leaves the row.
export async function clickInTerminal(page: Page, text: string): Promise<void> {
  let at = { x: 0, y: 0 };
  await eventually(async () => {
    const box = await boxOf(terminal(page).getByText(text).last());
    at = { x: box.x + box.width - 12, y: box.y + 8 };
    await page.mouse.move(at.x, at.y - box.height);
    await page.mouse.move(at.x, at.y);
    return page.locator(".xterm-cursor-pointer").count();
  }).toBeGreaterThan(0);
  await page.mouse.click(at.x, at.y);
}

// The rows of a terminal are replaced when it gets another size, so a row that was visible may have no box.
async function boxOf(row: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  await row.waitFor();
  return (await row.boundingBox()) ?? (await boxOf(row));
}
