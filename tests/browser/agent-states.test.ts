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

  test("an agent asks for a sign-in, a form and an address, offers its options, and has a conversation from elsewhere", async () => {
    const theirs = JSON.stringify([["theirs", { said: ["Asked in a terminal"] }]]);
    await using workspace = await suite.openInSamePage({
      files: { "agent.mjs": await readScriptedAgent() },
      create: {
        template: "signed-out",
        autoStartAgent: false,
        mcpServers: [
          { name: "shell", command: "sh" },
          { name: "wiki", url: "https://wiki.example/mcp" },
        ],
      },
    });
    const { page, session } = workspace;
    await suite.berth.api.call("POST", `/sandboxes/${session.sandboxId}/exec`, { command: `echo '${theirs}' > ~/scripted-sessions.json` });
    await suite.berth.api.call("POST", `/sandboxes/${session.sandboxId}/agent/start`);
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    const panel = page.getByRole("region", { name: "Agent" });
    await expectVisible(panel.getByRole("heading", { name: "Sign in to use the agent" }));
    await panel.getByRole("button", { name: "Log in" }).click();
    await expectVisible(page.getByRole("tab", { name: "Log in" }));
    await typeInTerminal(page, "1234\n");
    const box = panel.getByRole("textbox", { name: "Message to the agent" });
    const send = async (text: string) => {
      await box.fill(text);
      await panel.getByRole("button", { name: "Send" }).click();
    };
    await expectVisible(box);

    await panel.getByText("2 MCP servers, 1 not available").click();
    await eventually(() => panel.getByRole("list", { name: "MCP servers" }).getByRole("listitem").allInnerTexts()).toEqual([
      "shell\nready",
      "wiki\nThis agent cannot use servers with an address.",
    ]);
    await panel.getByText("2 MCP servers, 1 not available").click();

    await send(`/elicit { mode: "form", message: "Which release?", requestedSchema: { required: ["version", "parts"], properties: {
      version: { type: "string", title: "Version", description: "Such as 1.2", minLength: 3 },
      level: { type: "integer", title: "Level", minimum: 1, maximum: 9, default: 3 },
      channel: { type: "string", title: "Channel", enum: ["stable", "beta"], default: "beta" },
      parts: { type: "array", title: "Parts", items: { anyOf: [{ const: "d", title: "Daemon" }, { const: "w", title: "Web" }] } },
      sign: { type: "boolean", title: "Sign it", default: true } } } }`);
    const form = panel.getByRole("form", { name: "Which release?" });
    const version = form.getByRole("textbox", { name: "Version" });
    await version.press("Enter");
    await expectVisible(form.locator("input:invalid:focus"));
    await version.fill("1.2");
    await version.press("Enter");
    await expectVisible(form.getByRole("alert").filter({ hasText: "Choose at least 1 of “Parts”." }));
    await form.getByRole("group", { name: "Parts" }).getByRole("checkbox", { name: "Web" }).check();
    // The entries stay when the panel is hidden for a while.
    await panel.getByRole("button", { name: "Hide agent" }).click();
    await expectGone(panel);
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    expect(await seriousFaults(page)).toEqual([]);
    await form.getByRole("button", { name: "Answer" }).click();
    const values = { version: "1.2", level: 3, channel: "beta", parts: ["w"], sign: true };
    await expectVisible(panel.getByText(JSON.stringify({ action: "accept", content: values })));
    await expectVisible(panel.getByRole("group", { name: "Which release?" }).getByText("Web"));

    await send(`/elicit { mode: "url", elicitationId: "e", message: "Sign the licence", url: "https://licence.example/sign?by=you" }`);
    const address = panel.getByRole("group", { name: "Address to open: Sign the licence" });
    expect(await address.locator("strong").innerText()).toBe("licence.example");
    await page.context().route("https://licence.example/**", (route) => route.fulfill({ body: "Signed" }));
    const opened = page.context().waitForEvent("page");
    await address.getByRole("link", { name: "Open licence.example" }).click();
    const tab = await opened;
    expect([tab.url(), await tab.evaluate("window.opener")]).toEqual(["https://licence.example/sign?by=you", null]);
    await tab.close();
    await expectVisible(address.getByText("Opened."));
    await send(`/send { method: "elicitation/complete", params: { elicitationId: "e" } }`);
    await expectVisible(address.getByText("Done."));

    await panel.getByRole("button", { name: "Agent options" }).click();
    const options = page.getByRole("dialog", { name: "Agent options" });
    await options.getByRole("combobox", { name: "Effort" }).selectOption("High");
    // It is ticked when the agent has it.
    await options.getByRole("checkbox", { name: "Search the web" }).click();
    await expectVisible(options.getByRole("checkbox", { name: "Search the web", checked: true }));
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expectGone(options);
    await send("/options");
    await expectVisible(panel.getByText("Effort high, web true"));
    await send(
      `/send { method: "session/update", params: { sessionId, update: { sessionUpdate: "notice", severity: "warning", title: "Nearly full", description: "Soon" } } }`,
    );
    await expectVisible(panel.getByText("Nearly full", { exact: true }));

    await panel.locator("button.conversation-title").click();
    const menu = page.getByRole("menu", { name: "Conversations" });
    await expectVisible(menu.getByText("Started elsewhere with scripted"));
    await menu.getByRole("menuitem", { name: "Asked in a terminal" }).click();
    await expectVisible(panel.getByText("Asked in a terminal, repeated"));
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
    await box.fill(
      `/send { method: "session/update", params: { sessionId, update: { sessionUpdate: "notice", severity: "info", title: "Hm", description: "So" } } }`,
    );
    await panel.getByRole("button", { name: "Send" }).click();
    await expectVisible(panel.getByText("Hm", { exact: true }));
    await box.fill(
      `/elicit { mode: "form", message: "Well?", requestedSchema: { properties: { a: { type: "string" }, b: { type: "string", enum: ["x"] }, c: { type: "boolean" } } } }`,
    );
    await panel.getByRole("button", { name: "Send" }).click();
    await expectVisible(panel.getByRole("form", { name: "Well?" }));
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
