import { expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";
import { eventually, expectGone, expectVisible, screenText, treeItem } from "../support/browser/workspace.ts";
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
      await page.getByRole("tab", { name: "Setup" }).click();
      await eventually(() => screenText(page)).toContain("prepared the shop");

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
      const devcontainer = { forwardPorts: [3000, 5000], portsAttributes: { 3000: { label: "Shop" } } };
      git.addRepository("shop", {
        "README.md": "a shop\n",
        ".berth/setup": "echo prepared the shop",
        ".devcontainer.json": JSON.stringify(devcontainer),
      });
      return { BERTH_EGRESS_ALLOW: git.address };
    },
  },
);
