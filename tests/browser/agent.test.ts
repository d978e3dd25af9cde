import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import { editor, eventually, expectGone, openFile, expectVisible, treeItem } from "../support/browser/workspace.ts";
import { modelSettings, otherAgents, preferredAgent as agent, runsEveryTest, serverSettings } from "../support/agents/agents.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";
import { startModelServer, type ModelServer } from "../support/agents/model-server.ts";

const panel = (page: Page) => page.getByRole("region", { name: "Agent" });
const log = (page: Page) => page.getByRole("log", { name: "Conversation" });

async function openAgent(page: Page): Promise<void> {
  if (!(await panel(page).isVisible())) await page.getByRole("button", { name: "Agent", exact: true }).click();
  await expectVisible(panel(page).getByRole("textbox", { name: "Message to the agent" }));
  // Some agents need several seconds of CPU time to start, and the machine may be busy.
  await expect.poll(() => panel(page).getByText("The agent is starting…").count(), { timeout: 60_000 }).toBe(0);
}

// A conversation of its own in the workspace that tests share.
async function startConversation(page: Page): Promise<void> {
  await openAgent(page);
  await panel(page).getByTitle("New conversation").click();
  await expectGone(log(page).locator(".answer"));
}

async function say(page: Page, text: string): Promise<void> {
  const box = panel(page).getByRole("textbox", { name: "Message to the agent" });
  await box.fill(text);
  await panel(page).getByRole("button", { name: "Send", exact: true }).click();
}

let model: ModelServer;

async function scriptedModel(resources: AsyncDisposableStack): Promise<Record<string, string>> {
  model = resources.use(await startModelServer());
  return { ...modelSettings(model), ...(await serverSettings(agent, resources)) };
}

describeInBrowser(
  "the coding agent in the workspace",
  (suite) => {
    beforeEach(() => void (model.script = []));

    test("a prompt results in a tool card with a diff, a new file and a Markdown answer", async () => {
      const workspace = await suite.sharedWorkspace({ "a.rs": "let answer = 41;\n", "src/notes.md": "# Notes\n" });
      const { page } = workspace;
      await openFile(page, "a.rs");
      await editor(page).click();
      await page.keyboard.press("Control+a");
      await openAgent(page);
      // The selection is offered, and an at sign finds files.
      await panel(page).getByRole("button", { name: "a.rs:1", exact: true }).click();
      const box = panel(page).getByRole("textbox", { name: "Message to the agent" });
      await box.fill("See @notes");
      await page.getByRole("option", { name: "notes.md src" }).click();
      expect(await box.inputValue()).toBe("See @src/notes.md ");
      await expectVisible(panel(page).getByRole("button", { name: "Remove notes.md" }));
      model.script = [
        agent.edit("/workspace/a.rs", "let answer = 41;", "let answer = 42;"),
        agent.write("/workspace/b.rs", "let made = true;\n"),
        { say: "The answer is **forty-two** now." },
      ];
      await say(page, "Correct the answer");
      await expectVisible(log(page).getByText("Correct the answer"));
      await expectVisible(log(page).getByRole("button", { name: "notes.md" }));
      await expectVisible(log(page).getByText("+ let answer = 42;"));
      await expectVisible(log(page).locator("strong", { hasText: "forty-two" }));
      await eventually(() => workspace.read("a.rs")).toBe("let answer = 42;\n");
      // Editor and tree follow what the agent writes.
      await eventually(() => editor(page).innerText()).toContain("answer = 42");
      await treeItem(page, "b.rs").waitFor();
      const prompt = JSON.stringify(model.requests.find(({ body }) => JSON.stringify(body).includes("Correct the answer"))?.body);
      expect(["src/notes.md", "let answer = 41;"].filter((part) => !prompt.includes(part))).toEqual([]);
      expect(await seriousFaults(page)).toEqual([]);

      // An edit can be rejected, and a new file with it. An accepted edit stays.
      const edit = (path: string) => log(page).getByRole("group", { name: `Edit of ${path}` });
      await edit("b.rs").getByRole("button", { name: "Accept" }).click();
      await expectVisible(edit("b.rs").getByText("Accepted"));
      await edit("a.rs").getByRole("button", { name: "Reject" }).click();
      await expectVisible(edit("a.rs").getByText("Rejected"));
      expect(await workspace.read("a.rs")).toBe("let answer = 41;\n");

      // All files return to their state before the message, and that can be undone.
      await log(page).getByRole("button", { name: "Restore files to before this message" }).click();
      await expectVisible(log(page).getByText("Removed 1 new file."));
      expect(await workspace.read("b.rs")).toBeNull();
      await log(page).getByRole("button", { name: "Undo", exact: true }).last().click();
      await expectVisible(log(page).getByText("Restored 1 file."));
      expect(await workspace.read("b.rs")).toBe("let made = true;\n");
      // The path in the card opens the editor.
      await log(page).getByRole("button", { name: "b.rs", exact: true }).click();
      await expectVisible(page.getByLabel("Text of b.rs"));
    });

    test("a turn can be stopped, and the conversation continues", async () => {
      const { page } = await suite.sharedWorkspace();
      await startConversation(page);
      model.script = [{ sayAndHang: "This will take very long" }, { say: "Here again." }];
      await say(page, "Begin");
      await expectVisible(log(page).getByText("This will take very long"));
      // Messages wait for the end of the turn. A person can remove them.
      const box = panel(page).getByRole("textbox", { name: "Message to the agent" });
      const waiting = panel(page).getByRole("list", { name: "Waiting messages" }).getByRole("listitem");
      for (const text of ["Go on", "Never mind"]) {
        await box.fill(text);
        await panel(page).getByRole("button", { name: "Queue", exact: true }).click();
        await expectVisible(waiting.filter({ hasText: text }));
      }
      await waiting.filter({ hasText: "Never mind" }).getByRole("button", { name: "Remove from the queue" }).click();
      await panel(page).getByRole("button", { name: "Stop" }).click();
      await expectVisible(panel(page).getByRole("button", { name: "Send", exact: true }));
      expect(await waiting.allInnerTexts()).toEqual(["Go on"]);
      await waiting.getByRole("button", { name: "Send now" }).click();
      await expectVisible(log(page).getByText("Here again."));
      await expectGone(waiting);

      // The last message can be sent again, as it was or changed.
      model.script = [{ say: "The second answer." }, { say: `The third answer.${"\n\nAnother paragraph.".repeat(30)}` }];
      await log(page).getByRole("button", { name: "Retry" }).click();
      await expectVisible(log(page).getByText("The second answer."));
      await log(page).getByRole("button", { name: "Edit message" }).click();
      expect(await box.inputValue()).toBe("Go on");
      await expectVisible(panel(page).getByText("Editing your last message"));
      await say(page, "Go on slowly");
      await expectVisible(log(page).getByText("The third answer."));
      await expectGone(panel(page).getByText("Editing your last message"));
      await expectVisible(panel(page).getByRole("button", { name: "Send", exact: true }));
      await expectVisible(log(page).getByText("Another paragraph.").nth(29));
      await log(page).evaluate((element) => (element.scrollTop = 0));
      await panel(page).getByRole("button", { name: "Jump to latest" }).click();
      await expectGone(panel(page).getByRole("button", { name: "Jump to latest" }));
    });

    test("a permission request waits for the person's answer", async () => {
      const { envVars, mode } = agent.asking;
      await using own = Object.keys(envVars).length > 0 ? await suite.openWorkspace({ create: { envVars } }) : null;
      const workspace = own ?? (await suite.sharedWorkspace());
      const { page } = workspace;
      await startConversation(page);
      await say(page, "Hello");
      await expectVisible(log(page).getByText("Done."));
      await panel(page).getByRole("combobox", { name: "Agent mode" }).selectOption(mode);
      model.script = [agent.write("/workspace/asked.txt", "allowed\n"), { say: "Written." }];
      await say(page, "Write it");
      const request = page.getByRole("group", { name: /Permission/ });
      await expectVisible(request);
      expect(await workspace.read("asked.txt")).toBeNull();
      await request.getByRole("button", { name: "Allow once" }).click();
      await expectVisible(log(page).getByText("Written."));
      expect(await workspace.read("asked.txt")).toBe("allowed\n");
      await expectVisible(request.getByText("Answered:"));
    });

    test("several conversations can exist, and each can be deleted", async () => {
      const { page } = await suite.sharedWorkspace();
      await startConversation(page);
      model.script = [{ say: "First answer." }, { say: "Second answer." }];
      await say(page, "First question");
      await expectVisible(log(page).getByText("First answer."));
      await panel(page).getByRole("button", { name: "New conversation" }).click();
      await say(page, "Second question");
      await expectVisible(log(page).getByText("Second answer."));
      await expectGone(log(page).getByText("First answer."));
      await panel(page).getByRole("button", { name: "Delete conversation" }).click();
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await expectGone(log(page).getByText("Second answer."));
    });

    test("an error of the model is shown, and the session keeps working", async () => {
      const workspace = await suite.sharedWorkspace();
      const { page } = workspace;
      await startConversation(page);
      model.script = Array.from({ length: 8 }, () => ({ status: 400, error: "the model has had enough" }));
      await say(page, "Hello");
      await expectVisible(
        log(page)
          .getByText(/the model has had enough/)
          .first(),
      );
      expect(await workspace.exec("echo fine")).toBe("fine\n");
    });

    test("the conversation survives a reload, an agent crash, and a pause and resume", async () => {
      const workspace = await suite.sharedWorkspace();
      const { page, session } = workspace;
      await startConversation(page);
      model.script = [{ say: "The word is heliotrope." }];
      await say(page, "Remember a word");
      await expectVisible(log(page).getByText("The word is heliotrope."));

      await page.reload();
      await expectVisible(log(page).getByText("The word is heliotrope."));

      const died = await workspace.exec(`pgrep ${agent.name}`);
      await workspace.exec(`pkill -9 ${agent.name}`);
      // The daemon starts a new agent when it notices that the old one exited.
      await eventually(() => workspace.exec(`pgrep ${agent.name} || echo none`)).not.toMatch(new RegExp(`none|${died.trim()}`));
      model.script = [{ say: "Back after a crash." }];
      await expectVisible(panel(page).getByRole("button", { name: "Send", exact: true }));
      await eventually(async () => (await suite.berth.api.call("GET", `/sandboxes/${session.sandboxId}/agent`)).body).toMatchObject({
        status: "ready",
      });
      await say(page, "Are you there?");
      await expectVisible(log(page).getByText("Back after a crash."));

      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await expectVisible(page.getByRole("heading", { name: "This session is paused" }));
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await expectGone(page.getByRole("heading", { name: "This session is paused" }));
      await expectVisible(log(page).getByText("The word is heliotrope."));
      model.script = [{ say: "Back after a pause." }];
      await say(page, "And now?");
      await expectVisible(log(page).getByText("Back after a pause."));
    });
  },
  { settings: scriptedModel, needs: agent.missing },
);

// Agents send different messages, but the page shows the same. daemon/agent/real-agents.test.ts compares the messages of all agents.
for (const other of otherAgents.filter(runsEveryTest)) {
  describeInBrowser(
    `${other.name} in the workspace`,
    (suite) => {
      beforeEach(() => void (model.script = []));

      test("it asks for permission, edits and writes files, changes its mode and can be stopped", async () => {
        await using workspace = await suite.openWorkspace({
          files: { "a.ts": "export const answer = 41;\n" },
          create: { envVars: other.asking.envVars },
        });
        const { page } = workspace;
        await openAgent(page);
        await say(page, "Hello");
        await expectVisible(log(page).getByText("Done."));
        const modes = panel(page).getByRole("combobox", { name: "Agent mode" });
        await modes.selectOption(other.asking.mode);
        model.script = [
          other.edit("/workspace/a.ts", "export const answer = 41;", "export const answer = 42;"),
          other.write("/workspace/b.ts", "export const made = true;\n"),
          { say: "The answer is **forty-two** now." },
        ];
        await say(page, "Correct the answer");
        for (const file of ["a.ts", "b.ts"]) {
          const request = page.getByRole("group", { name: new RegExp(`^Permission: .*\\b${file}$`) });
          await expectVisible(request);
          await request.getByRole("button", { name: "Allow once" }).click();
        }
        await expectVisible(log(page).getByText("+ export const answer = 42;"));
        await expectVisible(log(page).getByText("+ export const made = true;"));
        await expectVisible(log(page).locator("strong", { hasText: "forty-two" }));
        expect([await workspace.read("a.ts"), await workspace.read("b.ts")]).toEqual([
          "export const answer = 42;\n",
          "export const made = true;\n",
        ]);
        expect(await seriousFaults(page)).toEqual([]);

        await modes.selectOption(other.carefulMode);
        model.script = [{ sayAndHang: "This will take very long" }, { say: "Here again." }];
        await say(page, "Begin");
        await expectVisible(log(page).getByText("This will take very long"));
        await panel(page).getByRole("button", { name: "Stop" }).click();
        await expectVisible(panel(page).getByRole("button", { name: "Send", exact: true }));
        await say(page, "Go on");
        await expectVisible(log(page).getByText("Here again."));
        expect(await modes.inputValue()).toBe(other.carefulMode);
      });
    },
    {
      settings: async (resources) => ({ ...(await scriptedModel(resources)), ...(await serverSettings(other, resources)) }),
      needs: other.missing,
    },
  );
}
