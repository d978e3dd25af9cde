import { expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";
import { editor, eventually, expectGone, expectVisible, openFile, screenText, treeItem } from "../support/browser/workspace.ts";
import { startGitServer, type GitServer } from "../support/git/git-server.ts";
import { machine } from "../support/machine.ts";

let git: GitServer;

describeInBrowser(
  "a session from a repository, in the browser",
  (suite) => {
    test("a failure is explained beside the Setup terminal, and Retry fetches the repository", async () => {
      const source = { git: { url: git.url("shop") } };
      // Without these, git would not use the proxy for a server on loopback.
      const envVars = { no_proxy: "", NO_PROXY: "" };
      await using workspace = await suite.openWorkspace({ closed: true, create: { source, envVars, autoStartAgent: false } });
      const { page } = workspace;
      await page.goto(await workspace.link({ displayName: "Ada Lovelace" }));
      const notice = page.locator(".notice", { hasText: "The repository could not be fetched." });
      await expectVisible(notice);
      expect(await notice.textContent()).toContain("The repository does not exist, or it needs a token.");
      const main = page.locator(".welcome");
      await expectVisible(main.getByRole("heading", { name: "The repository could not be fetched" }));
      await expectVisible(main.getByText("The repository does not exist, or it needs a token."));
      expect(await page.getByRole("button", { name: /^Branch/ }).count()).toBe(0);
      await page.getByRole("tab", { name: "Setup" }).click();
      await eventually(() => screenText(page)).toContain("it needs a token.");

      git.password = null;
      await main.getByRole("button", { name: "Retry" }).click();
      await expectVisible(treeItem(page, "README.md"));
      await expectGone(notice);
      await expectVisible(page.getByRole("button", { name: "Branch main" }));
      await expectVisible(main.getByRole("heading", { name: "Setting up your workspace…" }));
      await expectVisible(main.getByText("The Setup terminal shows the progress."));
      await workspace.exec("echo > ~/go");
      await page.getByRole("tab", { name: "Setup" }).click();
      await eventually(() => screenText(page)).toContain("prepared the shop");
      await expectVisible(main.getByRole("heading", { name: "Your workspace is ready" }));

      await eventually(() => screenText(page)).toContain("The editor uses these settings of devcontainer.json: editor.tabSize.");
      await eventually(() => screenText(page)).toContain("customizations.vscode.extensions");
      await workspace.write("new.txt", "");
      await openFile(page, "new.txt");
      await editor(page).click();
      await page.keyboard.press("Control+,");
      const tabSize = page.getByRole("spinbutton", { name: "Tab size" });
      // The page learns of the settings within a second after the terminal has named them.
      await expectVisible(page.getByText("The repository has chosen this.").first());
      expect(await tabSize.inputValue()).toBe("3");
      await openFile(page, "new.txt");
      await editor(page).click();
      await page.keyboard.press("Tab");
      await page.keyboard.type("indented");
      await eventually(() => workspace.read("new.txt")).toBe("   indented");
      await page.keyboard.press("Control+,");
      // A person's choice takes precedence, even if it is the usual value.
      await tabSize.fill("4");
      await expectVisible(page.getByText("Your choice replaces that of the repository."));
      expect(await seriousFaults(page)).toEqual([]);
      await page.getByRole("button", { name: "Reset Tab size" }).click();
      await eventually(() => tabSize.inputValue()).toBe("3");

      await page.getByRole("button", { name: /^Ports/ }).click();
      await expectVisible(page.getByText("Shop, not started"));
      await expectVisible(page.getByText("Not started", { exact: true }));
      expect(await seriousFaults(page)).toEqual([]);

      // Git asks who commits, and the page knows the name already.
      await workspace.write("README.md", "a bigger shop\n");
      await workspace.exec("git add README.md");
      await page.getByRole("button", { name: "Changes", exact: true }).click();
      await expectVisible(page.getByRole("region", { name: "Staged", exact: true }).getByText("README.md"));
      await page.getByRole("textbox", { name: "Commit message" }).fill("grow");
      await page.keyboard.press("Control+Enter");
      const author = page.getByRole("textbox", { name: "Name <email>" });
      await expectVisible(author);
      expect(await author.inputValue()).toBe("Ada Lovelace <>");
      await page.keyboard.type("ada@localhost");
      await page.keyboard.press("Enter");
      await eventually(() => workspace.exec("git log -1 --format='%an %ae %s'")).toBe("Ada Lovelace ada@localhost grow\n");
    });
  },
  {
    needs: machine.command("git"),
    async settings(resources) {
      git = resources.use(await startGitServer("a password"));
      const customizations = { vscode: { settings: { "editor.tabSize": 3 }, extensions: ["a.b"] } };
      const devcontainer = { forwardPorts: [3000, 5000], portsAttributes: { 3000: { label: "Shop" } }, customizations };
      git.addRepository("shop", {
        "README.md": "a shop\n",
        ".berth/setup": "mkfifo ~/go; cat ~/go; echo prepared the shop",
        ".devcontainer.json": JSON.stringify(devcontainer),
      });
      return { BERTH_EGRESS_ALLOW: git.address };
    },
  },
);
