import type { UserSettings } from "@berth/contract/workspace/workspace.ts";
import { expect, test, vi } from "vitest";
import { createSettingsSync } from "./sync.ts";
import type { SettingsValues } from "./values.ts";

// A server, and browsers that use it.
function openServer(stored: UserSettings = { settings: {}, version: 0 }) {
  const server = { stored, reachable: true };
  const check = () => {
    if (!server.reachable) throw new Error("offline");
  };
  // `browser` is what the browser keeps of an earlier page.
  function openBrowser(values: SettingsValues = {}, browser = { values, unwritten: {} as Record<string, true> }) {
    const sync = createSettingsSync({
      async read() {
        check();
        return server.stored;
      },
      async write(written) {
        check();
        if (written.version !== server.stored.version) return null;
        server.stored = { settings: written.settings, version: written.version + 1 };
        return server.stored.version;
      },
      values: () => browser.values,
      show: (next) => (browser.values = next),
      unwritten: { value: { ...browser.unwritten }, save: (marks) => (browser.unwritten = { ...marks }) },
      writeAfterMs: 0,
    });
    const change = (changes: SettingsValues) => {
      browser.values = { ...browser.values, ...changes };
      sync.changed(Object.keys(changes));
    };
    return { browser, pull: sync.pull, change };
  }
  return { server, openBrowser };
}

test("a change in one browser arrives in another one", async () => {
  const { server, openBrowser } = openServer();
  const [first, second] = [openBrowser(), openBrowser()];
  await first.pull();
  first.change({ size: 15 });
  await vi.waitFor(() => expect(server.stored.version).toBe(1));
  await second.pull();
  expect(second.browser.values).toEqual({ size: 15 });
});

test("the settings of the browser are the first ones of a user, and never replace stored ones", async () => {
  const fresh = openServer();
  await fresh.openBrowser({ size: 15 }).pull();
  await vi.waitFor(() => expect(fresh.server.stored.settings).toEqual({ size: 15 }));
  const used = openServer({ settings: { size: 20 }, version: 7 });
  const { browser, pull } = used.openBrowser({ size: 15, wrap: true });
  await pull();
  expect(browser.values).toEqual({ size: 20 });
  expect(used.server.stored.version).toBe(7);
});

test("changes of two browsers at once are merged, and the last one of each setting wins", async () => {
  const { server, openBrowser } = openServer({ settings: { size: 10 }, version: 1 });
  const [first, second] = [openBrowser(), openBrowser()];
  await Promise.all([first.pull(), second.pull()]);
  first.change({ size: 15 });
  await vi.waitFor(() => expect(server.stored.version).toBe(2));
  second.change({ wrap: true });
  await vi.waitFor(() => expect(server.stored).toEqual({ settings: { size: 15, wrap: true }, version: 3 }));
  expect(second.browser.values).toEqual({ size: 15, wrap: true });
});

test("a change while the server cannot be reached is written later", async () => {
  const { server, openBrowser } = openServer({ settings: {}, version: 1 });
  const { pull, change } = openBrowser();
  await pull();
  server.reachable = false;
  change({ size: 15 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  server.reachable = true;
  await pull();
  await vi.waitFor(() => expect(server.stored.settings).toEqual({ size: 15 }));
});

test("a change just before a reload is kept, and written by the next page", async () => {
  const { server, openBrowser } = openServer({ settings: { size: 10, wrap: false }, version: 1 });
  const before = openBrowser();
  await before.pull();
  server.reachable = false;
  before.change({ size: 15 });
  server.stored = { settings: { size: 10, wrap: true }, version: 2 };
  const after = openBrowser({}, before.browser);
  server.reachable = true;
  await after.pull();
  expect(after.browser.values).toEqual({ size: 15, wrap: true });
  await vi.waitFor(() => expect(server.stored.settings).toEqual({ size: 15, wrap: true }));
  await vi.waitFor(() => expect(after.browser.unwritten).toEqual({}));
});
