import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findBrowserOpener } from "./browser.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-browser-"));
writeFileSync(join(folder, "xdg-open"), "");
chmodSync(join(folder, "xdg-open"), 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

test("a browser is opened on a desktop only: never on a server, in CI, over SSH, or for root", () => {
  const desktop = { platform: "linux", env: { DISPLAY: ":0", PATH: folder }, isTerminal: true, uid: 1000 } as const;
  expect(findBrowserOpener(desktop)).toBe("xdg-open");
  expect(findBrowserOpener({ ...desktop, env: { WAYLAND_DISPLAY: "wayland-0", PATH: folder } })).toBe("xdg-open");
  expect(findBrowserOpener({ ...desktop, platform: "darwin", env: {} })).toBe("open");
  const others = [
    { isTerminal: false },
    { uid: 0 },
    { env: { PATH: folder } },
    { env: { DISPLAY: ":0", PATH: "/nonexistent" } },
    ...["CI", "SSH_CONNECTION", "SSH_TTY"].map((name) => ({ env: { ...desktop.env, [name]: "1" } })),
  ];
  for (const other of others) expect(findBrowserOpener({ ...desktop, ...other })).toBeNull();
});
