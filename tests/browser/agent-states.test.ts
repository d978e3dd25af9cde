import { expect, test } from "vitest";
import { readScriptedAgent } from "../support/agents/scripted-agent.ts";
import { seriousFaults } from "../support/browser/axe.ts";
import { smallTargets } from "../support/browser/touch-targets.ts";
import { eventually, expectGone, hasFocus, screenText, expectVisible, typeInTerminal } from "../support/browser/workspace.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";

const NUMBERS = Array.from({ length: 20 }, (_line, index) => `line ${index + 1}\n`).join("");

// The templates are those of tests/support/servers/shared-templates.yaml.
describeOnSharedServer("an agent that is not available", (suite) => {
  test.each([
    ["default", "The assistant is not available here", "as usual"],
    ["without-agent", "The assistant is not available here", "as usual"],
    ["wrong-command", "The agent could not start", "Try again"],
  ])("with the template %s the panel explains it, and the session keeps working", async (template, heading, detail) => {
    await using workspace = await suite.openInSamePage({ create: { template } });
    const { page } = workspace;
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    const panel = page.getByRole("region", { name: "Agent" });
    await expectVisible(panel.getByRole("heading", { name: heading }));
    await expectVisible(panel.getByText(detail));
    await typeInTerminal(page, "echo working-$((1+1))\n");
    await eventually(() => screenText(page)).toContain("working-2");
    expect(await panel.getByRole("button", { name: "Send", disabled: false }).count()).toBe(0);
  });

  test("an agent's plan, commands, modes, models, images and edits work on a phone, in the dark", async () => {
    await using workspace = await suite.openWorkspace({
      closed: true,
      files: { "agent.mjs": await readScriptedAgent(), "numbers.txt": NUMBERS },
      create: { template: "scripted", autoStartAgent: false },
      context: { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true, colorScheme: "dark" },
    });
    const { page, session } = workspace;
    await suite.berth.api.call("POST", `/sandboxes/${session.sandboxId}/agent/start`);
    await page.goto(await workspace.link());
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    const panel = page.getByRole("region", { name: "Agent" });
    const box = panel.getByRole("textbox", { name: "Message to the agent" });
    // The key moves the focus to the message, hides the agent from there, and shows it with the focus again.
    await expectVisible(box);
    await page.keyboard.press("Control+Alt+A");
    await eventually(() => hasFocus(box)).toBe(true);
    await page.keyboard.press("Control+Alt+A");
    await expectGone(panel);
    await page.keyboard.press("Control+Alt+A");
    await eventually(() => hasFocus(box)).toBe(true);
    await panel.getByRole("combobox", { name: "Agent mode" }).selectOption("Write code");
    await panel.getByRole("combobox", { name: "Model" }).selectOption("Large model");
    await panel.locator("input[type=file]").setInputFiles({ name: "shot.png", mimeType: "image/png", buffer: await page.screenshot() });
    await expectVisible(panel.getByRole("button", { name: "Remove image" }));
    await box.fill("Hello");
    await panel.getByRole("button", { name: "Send" }).click();
    await expectVisible(panel.getByText("Hello (mode code, model large, parts text image)"));

    await box.fill("/pl");
    await expectVisible(panel.getByRole("option", { name: "/plan the goal" }));
    await box.press("Enter");
    expect(await box.inputValue()).toBe("/plan ");
    await panel.getByRole("button", { name: "Send" }).click();
    await expectVisible(panel.getByText("The tests are running."));
    await expectVisible(panel.getByText("2 of 3"));
    const steps = panel.getByRole("listitem").filter({ has: page.locator("svg") });
    expect(await steps.allInnerTexts()).toEqual(["Read the code", "Change the code", "Run the tests"]);
    await expectVisible(steps.last().getByLabel("in progress"));

    // A person decides about each part of an edit.
    await box.fill("/edit numbers.txt");
    await panel.getByRole("button", { name: "Send" }).click();
    await expectVisible(panel.getByText("I have changed two lines."));
    await panel.getByRole("button", { name: "Reject part 1" }).click();
    await expectVisible(panel.getByText("Rejected"));
    await panel.getByRole("button", { name: "Accept part 2" }).click();
    await expectVisible(panel.getByText("Accepted"));
    expect(await workspace.read("numbers.txt")).toBe(NUMBERS.replace("line 20", "the last line"));
    expect(await seriousFaults(page)).toEqual([]);

    const small: Record<string, string[]> = { agent: await smallTargets(page) };
    for (const view of ["Files", "Search", "Changes", "Ports"]) {
      await page.getByRole("navigation", { name: "Views" }).getByRole("button", { name: view }).click();
      await expectVisible(page.getByRole("heading", { name: view }));
      small[view] = await smallTargets(page);
    }
    expect(small).toEqual({ agent: [], Files: [], Search: [], Changes: [], Ports: [] });
  });
});
