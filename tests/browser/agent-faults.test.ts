import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { readScriptedAgent } from "../support/agents/scripted-agent.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";
import { seriousFaults } from "../support/browser/axe.ts";
import { expectGone, expectVisible } from "../support/browser/workspace.ts";

// A model in the sandbox that always fails, in one way per path. Its fourth answer waits until the file `go` exists, so that the page has
// time to show the third retry.
const MODEL = `const { existsSync } = require("node:fs");
let answers = 0;
require("node:http").createServer((request, response) => {
  const [status, code] = request.url.includes("/limited") ? [429, "slow_down"] : [400, "context_length_exceeded"];
  const isHeld = ++answers === 4;
  const answer = () =>
    isHeld && !existsSync("go") ? setTimeout(answer, 20) : response.writeHead(status).end(JSON.stringify({ error: { code, message: "no" } }));
  request.resume().on("end", answer);
}).listen(9999, "127.0.0.1");`;

describeOnSharedServer("the agent panel", (suite) => {
  test("shows faults of the model, asks for clear permissions, and renames and exports a conversation", { timeout: 180_000 }, async () => {
    await using workspace = await suite.openWorkspace({
      closed: true,
      files: { "agent.mjs": await readScriptedAgent(), "model.cjs": MODEL },
      create: { template: "scripted", autoStartAgent: false, envVars: { OPENAI_BASE_URL: "http://127.0.0.1:9999/model/v1" } },
    });
    const { page, session } = workspace;
    await workspace.exec("(setsid node model.cjs > /dev/null 2>&1 &)");
    await suite.berth.api.call("POST", `/sandboxes/${session.sandboxId}/agent/start`);
    await page.goto(await workspace.link());
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    const panel = page.getByRole("region", { name: "Agent" });
    const box = panel.getByRole("textbox", { name: "Message to the agent" });
    const say = async (text: string) => {
      await box.fill(text);
      await panel.getByRole("button", { name: "Send" }).click();
    };

    await say("/model /limited");
    await expectVisible(panel.getByText("limits the number of requests. Retrying, 3 of 5."));
    await workspace.write("go", "");
    await expectVisible(panel.getByRole("alert").getByText("limits the number of requests. Try again in a moment."));
    await expectGone(panel.getByText("Retrying"));
    await say("/model /long");
    await expectVisible(panel.getByRole("alert").getByText("no longer fits into the model's context"));
    expect(await panel.getByRole("log").innerText()).not.toContain("127.0.0.1");

    // A notice does not lie over the buttons of the message.
    await panel.locator("input[type=file]").setInputFiles({ name: "a.png", mimeType: "image/png", buffer: Buffer.from("no image") });
    await expectVisible(page.getByRole("region", { name: "Notices" }).getByText("Could not attach the image"));
    await say("/ask touch three");

    await panel.getByRole("button", { name: "Always allow running commands in this conversation" }).click();
    await expectVisible(panel.getByText("The answer is allow_once."));
    await panel.getByRole("button", { name: "Ask again before running commands" }).click();
    await expectGone(panel.getByText("Allowed without asking"));
    // The rules of the template answer, and are shown.
    await say("/ask rm -rf three");
    await expectVisible(panel.getByText("The answer is reject_once."));
    await expectVisible(panel.getByText("Denied by a rule."));
    await panel.getByText("2 rules decide about permissions").click();
    await expectVisible(panel.getByRole("list", { name: "Rules" }).getByText("ls*"));
    expect(await seriousFaults(page)).toEqual([]);

    await panel.getByRole("button", { name: "/model /limited" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await panel.getByRole("textbox", { name: "Title of the conversation" }).fill("Faults of a model");
    await page.keyboard.press("Enter");
    await panel.getByRole("button", { name: "Faults of a model" }).click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "Export as Markdown" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("Faults of a model.md");
    expect(await readFile(await download.path(), "utf8")).toContain(
      "# Faults of a model\n\n## You\n\n/model /limited\n\n> The model's provider limits",
    );
  });
});
