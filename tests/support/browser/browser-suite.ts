import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { startBerth, type Berth } from "../servers/berth.ts";
import { shareBerth, type SharedBerth } from "../servers/shared-berth.ts";
import {
  closeTabs,
  expectGone,
  newWorkspacePage,
  openWorkspace,
  shareChromium,
  showFiles,
  type OpenedWorkspace,
  type WorkspaceOptions,
} from "./workspace.ts";
import { describeWith, machine, type Missing } from "../machine.ts";

// The server and the browser that the tests of one suite share.
export interface BrowserSuite<Server = Omit<SharedBerth, "partnerId">> {
  readonly berth: Server;
  readonly browser: Browser;
  openWorkspace(options?: WorkspaceOptions): Promise<OpenedWorkspace>;
  // The same in one page that these tests use in turn, with its caches.
  openInSamePage(options?: WorkspaceOptions): Promise<OpenedWorkspace>;
  // The open workspace that tests share, with these files besides those of earlier tests. A new session and page would cost
  // more than most tests, so a test that depends on neither uses this, with files of its own.
  sharedWorkspace(files?: WorkspaceOptions["files"]): Promise<OpenedWorkspace>;
  // The same with these files only, and no open tabs.
  emptiedWorkspace(files: NonNullable<WorkspaceOptions["files"]>): Promise<OpenedWorkspace>;
}

export interface BrowserSuiteOptions {
  // The server's settings. Resources that must outlive the server belong into `resources`. The server is not started yet.
  settings?: (resources: AsyncDisposableStack, suite: BrowserSuite<Berth>) => Promise<Record<string, string>>;
  // Requirements besides a browser.
  needs?: Missing;
}

// A suite that uses a real server of its own and the system's browser. It is skipped if there is no browser.
export function describeInBrowser(
  name: string,
  tests: (suite: BrowserSuite<Berth>) => void,
  { settings, needs }: BrowserSuiteOptions = {},
): void {
  const open: OpenServer<Berth> = async (all, suite) => all.use(await startBerth(await settings?.(all, suite)));
  defineSuite(name, tests, { open, needs });
}

// The same with the server that the worker's test files share (servers/shared-berth.ts).
export function describeOnSharedServer(name: string, tests: (suite: BrowserSuite<SharedBerth>) => void): void {
  defineSuite(name, tests, { open: shareBerth });
}

type OpenServer<Server> = (resources: AsyncDisposableStack, suite: BrowserSuite<Server>) => Promise<Server>;

function defineSuite<Server extends Pick<Berth, "api">>(
  name: string,
  tests: (suite: BrowserSuite<Server>) => void,
  { open, needs }: { open: OpenServer<Server>; needs?: Missing },
): void {
  describeWith([machine.chromium, needs], name, () => {
    const all = new AsyncDisposableStack();
    let berth: Server;
    let browser: Browser;
    let shared: Promise<OpenedWorkspace> | undefined;
    let samePage: Page | undefined;

    const suite: BrowserSuite<Server> = {
      get berth() {
        return berth;
      },
      get browser() {
        return browser;
      },
      openWorkspace: (options) => openWorkspace(berth, browser, options),
      async openInSamePage(options) {
        samePage ??= await newWorkspacePage(browser);
        return openWorkspace(berth, browser, { ...options, page: samePage });
      },
      async sharedWorkspace(files = {}) {
        shared ??= openWorkspace(berth, browser).then((opened) => all.use(opened));
        const workspace = await shared;
        // A file that an earlier test has open is not written again: its change could arrive while this test types.
        for (const [path, content] of Object.entries(files))
          if ((await workspace.read(path)) !== content) await workspace.write(path, content);
        return workspace;
      },
      async emptiedWorkspace(files) {
        const isNew = shared === undefined;
        const { page, exec } = await suite.sharedWorkspace();
        if (!isNew) {
          await closeTabs(page);
          await showFiles(page);
          await exec("find . -mindepth 1 -delete");
          await expectGone(page.getByRole("treeitem"));
        }
        return suite.sharedWorkspace(files);
      },
    };

    beforeAll(async () => {
      berth = await open(all, suite);
      browser = await shareChromium();
      all.defer(async () => void (await Promise.all(browser.contexts().map((context) => context.close()))));
    });
    afterAll(() => all.disposeAsync());

    tests(suite);
  });
}
