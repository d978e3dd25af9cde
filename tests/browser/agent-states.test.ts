import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { preferredAgent as agent } from "../support/agents/agents.ts";
import { eventually, screenText, expectVisible, typeInTerminal } from "../support/browser/workspace.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";

const templates = `
without-agent: { agent: null }
not-installed: { agent: /nowhere/some-agent }
wrong-command: { agent: ./nothing-in-the-workspace }
`;

async function templatesFile(resources: AsyncDisposableStack): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), "berth-templates-"));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "templates.yaml"), templates);
  return { BERTH_TEMPLATES: join(folder, "templates.yaml") };
}

describeInBrowser(
  "an agent that is not available",
  (suite) => {
    test.each([
      agent.missing === undefined
        ? ["default", "The agent has no model yet", agent.missingVariables[0]!]
        : ["default", "The agent is not installed here", "(goose or opencode)"],
      ["without-agent", "No agent in this workspace", "without a coding agent"],
      ["not-installed", "The agent is not installed here", "(some-agent)"],
      ["wrong-command", "The agent could not start", "Try again"],
    ])("with the template %s the panel explains it, and the session keeps working", async (template, heading, detail) => {
      await using workspace = await suite.openWorkspace({ create: { template } });
      const { page } = workspace;
      await page.getByRole("button", { name: "Agent", exact: true }).click();
      const panel = page.getByRole("region", { name: "Agent" });
      await expectVisible(panel.getByRole("heading", { name: heading }));
      await expectVisible(panel.getByText(detail));
      await typeInTerminal(page, "echo working-$((1+1))\n");
      await eventually(() => screenText(page)).toContain("working-2");
      expect(await panel.getByRole("button", { name: "Send", disabled: false }).count()).toBe(0);
    });
  },
  { settings: templatesFile },
);
