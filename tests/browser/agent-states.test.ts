import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBerth, type Berth } from "../support/berth.ts";
import { eventually, launchChromium, noChromium, openDesk, screenText, seen, typeInTerminal } from "../support/browser.ts";

const templates = `
without-agent: { agent: null }
wrong-command: { agent: { command: /nowhere/agent, args: [], env: {}, requiredEnv: [] } }
`;

describe.skipIf(noChromium)("an agent that cannot be had (needs Chromium)", () => {
  let berth: Berth;
  let browser: Browser;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "berth-templates-"));
    await writeFile(join(folder, "templates.yaml"), templates);
    [berth, browser] = await Promise.all([startBerth({ BERTH_TEMPLATES: join(folder, "templates.yaml") }), launchChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await berth?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test.each([
    ["default", "The agent has no model yet", "GOOSE_PROVIDER"],
    ["without-agent", "No agent in this workspace", "without a coding agent"],
    ["wrong-command", "The agent could not be started", "Try again"],
  ])("with the template %s the panel says so, and the session is unharmed", async (template, heading, detail) => {
    await using desk = await openDesk(berth, browser, { create: { template } });
    const { page } = desk;
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    const panel = page.getByRole("region", { name: "Agent" });
    await seen(panel.getByRole("heading", { name: heading }));
    await seen(panel.getByText(detail));
    await typeInTerminal(page, "echo unharmed-$((1+1))\n");
    await eventually(() => screenText(page)).toContain("unharmed-2");
    expect(await panel.getByRole("button", { name: "Send", disabled: false }).count()).toBe(0);
  });
});
