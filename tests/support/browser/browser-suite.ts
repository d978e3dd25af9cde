import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { startBerth, type Berth } from "../servers/berth.ts";
import { launchChromium, openDesk, type Desk, type DeskOptions } from "./workspace.ts";
import { describeWith, machine, type Missing } from "../machine.ts";

// A server and a browser, for all tests of one suite.
export interface Stage {
  readonly berth: Berth;
  readonly browser: Browser;
  openDesk(options?: DeskOptions): Promise<Desk>;
}

export interface StageOptions {
  // The server's settings. What must be there before it and be gone after it is given to `props`; the stage is empty yet.
  settings?: (props: AsyncDisposableStack, stage: Stage) => Promise<Record<string, string>>;
  // What it needs besides a browser.
  needs?: Missing;
}

// A suite of journeys through the real server and the system's browser; skipped where there is none.
export function inBrowser(name: string, tests: (stage: Stage) => void, { settings, needs }: StageOptions = {}): void {
  describeWith([machine.chromium, needs], name, () => {
    const all = new AsyncDisposableStack();
    let berth: Berth;
    let browser: Browser;

    const stage: Stage = {
      get berth() {
        return berth;
      },
      get browser() {
        return browser;
      },
      openDesk: (options) => openDesk(berth, browser, options),
    };

    beforeAll(async () => {
      berth = all.use(await startBerth(await settings?.(all, stage)));
      browser = await launchChromium();
      all.defer(() => browser.close());
    });
    afterAll(() => all.disposeAsync());

    tests(stage);
  });
}
