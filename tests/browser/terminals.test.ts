import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  clickInTerminal,
  editor,
  eventually,
  expectGone,
  expectVisible,
  focusIsIn,
  openFile,
  screenText,
  showFiles,
  tab,
  terminal,
  treeItem,
  typeInTerminal,
} from "../support/browser/workspace.ts";
import { seriousFaults } from "../support/browser/axe.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";

describeOnSharedServer("terminals in the workspace", (suite) => {
  test("a command that is typed runs, and its output is shown", async () => {
    const { page } = await suite.sharedWorkspace();
    await eventually(() => screenText(page)).toMatch(/[$#%>] ?$/m);
    await page.locator(".terminal-view .xterm-helper-textarea").first().focus();
    await page.keyboard.type("echo sum-$((20+22))\n");
    await eventually(() => screenText(page)).toContain("sum-42");
  });

  test("a terminal that is hidden and shown again continues at its prompt, with the keyboard focus", async () => {
    const workspace = await suite.sharedWorkspace({ "README.md": "# Hello\n" });
    const { page } = workspace;
    await openFile(page, "README.md");
    await typeInTerminal(page, "seq 1 200; echo end-$((1+1))\n");
    await eventually(() => screenText(page)).toMatch(/end-2\n.*\$$/);
    await page.keyboard.press("Control+J");
    await expectGone(page.locator(".terminal-view"));
    await eventually(() => focusIsIn(page, ".text-editor")).toBe(true);
    await page.keyboard.press("Control+`");
    await eventually(() => focusIsIn(page, ".terminal-view")).toBe(true);
    await eventually(() => screenText(page)).toMatch(/end-2\n.*\$$/);
    await page.keyboard.type("echo shown-$((2+2))\n");
    await eventually(() => screenText(page)).toMatch(/^shown-4$/m);
  });

  test("the editor and the tree follow changes made in the terminal", async () => {
    const workspace = await suite.sharedWorkspace({ "a.txt": "before\n" });
    const { page } = workspace;
    await openFile(page, "a.txt");
    await typeInTerminal(page, "echo changed-in-terminal > a.txt; touch new.txt\n");
    await eventually(() => editor(page).innerText()).toContain("changed-in-terminal");
    await expectVisible(treeItem(page, "new.txt"));
  });

  test("a process of the API is listed with what it uses, its output is followed, and it can be stopped", async () => {
    const workspace = await suite.sharedWorkspace();
    const { page } = workspace;
    const title = await page.title();
    // Its output tries to change the page, and has more than one stream.
    const server = `console.error("\u001b]0;evil\u0007\u001b[31mstarting\u001b[0m"); const server = require("node:http").createServer();
      server.listen(4777, () => { console.log("ready"); process.on("SIGUSR2", () => console.log("seen")); });
      setInterval(() => { for (const until = Date.now() + 30; Date.now() < until;); }, 50);`;
    await workspace.write("serve.cjs", server);
    const command = "n=$(command -v node || echo /opt/berth/bin/node); exec $n serve.cjs";
    const path = `/sandboxes/${workspace.session.sandboxId}/processes`;
    const { id } = (await suite.berth.api.call("POST", path, { command, name: "site" })).body as { id: string };
    await page.keyboard.press("F1");
    await page.keyboard.type("processes");
    await page.getByRole("option", { name: "Show programs and processes" }).click();
    const running = page.getByRole("list", { name: "Running programs" }).getByRole("listitem");
    const row = running.filter({ hasText: "site" });
    await expectVisible(row.getByRole("button", { name: "Port 4777" }));
    await eventually(() => row.innerText()).toMatch(/CPU [1-9]\d*%/);
    expect(await row.innerText()).toMatch(/just now[^]*\d MB/);
    await expectVisible(running.filter({ hasText: "Terminal 1" }).getByText("CPU"));

    await row.getByRole("button", { name: "Show output of site" }).click();
    const screen = page.locator(".output-view .xterm-rows");
    await eventually(() => screen.innerText()).toMatch(/starting[^]*ready/);
    await suite.berth.api.call("POST", `${path}/${id}/signal`, { signal: "SIGUSR2" });
    await eventually(() => screen.innerText()).toContain("seen");
    expect(await page.title()).toBe(title.replace(/^.* · /, ""));
    expect(await seriousFaults(page)).toEqual([]);

    // By keyboard. The focus stays in the panel when the button disappears.
    await row.getByRole("button", { name: "Stop site" }).press("Enter");
    const ended = page.getByRole("list", { name: "Ended processes" }).getByRole("listitem").filter({ hasText: "site" });
    await expectVisible(ended.getByText("SIGTERM"));
    await expectVisible(page.getByRole("status").getByText("It has ended: SIGTERM."));
    await eventually(() => focusIsIn(page, ".side-panel")).toBe(true);

    const viewer = await workspace.another({ role: "viewer" }, { viewport: { width: 375, height: 700 } });
    await viewer.getByRole("button", { name: "Programs" }).click();
    await expectVisible(viewer.getByRole("list", { name: "Running programs" }).getByText("Terminal 1"));
    expect(await viewer.getByRole("button", { name: /^Stop/ }).count()).toBe(0);
    await viewer.getByRole("button", { name: "Show output of site" }).click();
    await expectVisible(viewer.getByRole("status").getByText("It has ended: SIGTERM."));
    await viewer.context().close();
    await tab(page, "site").press("Delete");
    await showFiles(page);
  });

  test("in a terminal the keys of the workspace's commands reach the workspace, and all others reach the shell", async () => {
    const workspace = await suite.sharedWorkspace({ "README.md": "# Hello\n" });
    const { page } = workspace;
    await openFile(page, "README.md");
    await typeInTerminal(page, "cat -v\n");
    await expectVisible(page.getByRole("tab", { name: "cat" }));
    await page.keyboard.press("Control+P");
    await expectVisible(page.getByRole("combobox", { name: "File name" }));
    await page.keyboard.press("Escape");
    await eventually(() => focusIsIn(page, ".terminal-view")).toBe(true);
    await page.keyboard.press("Control+B");
    await page.keyboard.press("Enter");
    await eventually(() => screenText(page)).toContain("^B");
    await page.keyboard.press("Control+Shift+E");
    await eventually(() => focusIsIn(page, '[role="treeitem"]')).toBe(true);
    await page.keyboard.press("Control+Shift+E");
    await eventually(() => focusIsIn(page, ".text-editor")).toBe(true);
    await expectVisible(treeItem(page, "README.md"));
    await page.locator(".terminal-view .xterm-helper-textarea").first().focus();
    await page.keyboard.press("Control+C");
    await eventually(() => screenText(page)).toMatch(/\^C\n.*\$$/);
  });

  test("tabs and terminals survive a reload", async () => {
    const { page } = await suite.sharedWorkspace({ "a.txt": "a\n", "b.txt": "b\n" });
    await openFile(page, "a.txt");
    await openFile(page, "b.txt");
    await typeInTerminal(page, "export KEPT=yes; echo remember-$KEPT\n");
    await eventually(() => screenText(page)).toContain("remember-yes");
    await page.reload();
    await expectVisible(tab(page, "a.txt"));
    await eventually(() => tab(page, "b.txt").getAttribute("aria-selected")).toBe("true");
    await eventually(() => screenText(page)).toContain("remember-yes");
    await typeInTerminal(page, "echo still-$KEPT\n");
    await eventually(() => screenText(page)).toContain("still-yes");
  });

  // The output of programs is untrusted. Escape sequences must not affect anything outside the screen.
  test("escape sequences cannot make the terminal type the title or the clipboard back into the shell", async () => {
    const { page } = await suite.sharedWorkspace();
    await typeInTerminal(page, String.raw`printf '\e]2;evil\a\e[21t\e]52;c;?\a'; read -t 1 -n 99 typed; echo "typed=[$typed]"`);
    await eventually(() => screenText(page)).toContain("typed=[]");
  });

  test("escape sequences cannot change the page title, write to the clipboard or run a script through a link", async () => {
    const { page } = await suite.sharedWorkspace();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(page.url()).origin });
    await page.evaluate("navigator.clipboard.writeText('mine')");
    const title = await page.title();
    const stolen = Buffer.from("stolen").toString("base64");
    await typeInTerminal(
      page,
      String.raw`clear; printf '\e]0;evil\a\e]52;c;${stolen}\a\e]8;;javascript:document.title=1\e\\click-me\e]8;;\e\\ done\n'`,
    );
    await eventually(() => screenText(page)).toMatch(/^click-me done$/m);
    const screen = page.locator(".xterm-screen").first();
    const box = (await screen.boundingBox())!;
    await page.keyboard.down("Control");
    for (let y = 8; y < Math.min(box.height, 140); y += 12) await page.mouse.click(box.x + 30, box.y + y);
    await page.keyboard.up("Control");
    expect(await page.title()).toBe(title);
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("mine");
  });

  test("a program gets the place of a click as bytes, also far on the right", async () => {
    const { page } = await suite.sharedWorkspace();
    // The mouse reports of the oldest protocol: a byte for the column, which is above 127 from column 96 on.
    await typeInTerminal(
      page,
      String.raw`stty raw -echo; printf '\e[?1000hrea''dy'; head -c 12 | od -An -tu1; printf '\e[?1000l'; stty sane`,
    );
    await eventually(() => screenText(page)).toContain("ready");
    const box = (await page.locator(".xterm-screen").first().boundingBox())!;
    await page.mouse.click(box.x + box.width - 30, box.y + 30);
    await eventually(() => screenText(page)).toMatch(/27 +91 +77 +32 +(1[3-9]\d) +(\d+) +27 +91 +77 +35 +\1 +\2/);
  });

  test("two people share a terminal, a touch screen has keys for Ctrl and the arrows, and a program that ends shows its exit status", async () => {
    const workspace = await suite.sharedWorkspace();
    const rowCount = (page: Page) => terminal(page).locator("> div").count();
    await typeInTerminal(workspace.page, "clear; echo from-the-first");
    const rows = await rowCount(workspace.page);
    const page = await workspace.another(undefined, { hasTouch: true, viewport: { width: 900, height: 620 } });
    await eventually(() => screenText(page)).toMatch(/^from-the-first$/m);
    // The smaller browser only looks, so it shows the screen of the other one.
    expect([await rowCount(page), await rowCount(workspace.page)]).toEqual([rows, rows]);
    expect(await page.locator(".terminal-view .screen").evaluate((screen) => screen.scrollHeight > screen.clientHeight)).toBe(true);
    const keys = page.getByRole("toolbar", { name: "Terminal keys" });
    await typeInTerminal(page, "echo from-the-second; sleep 100");
    await eventually(() => screenText(workspace.page)).toMatch(/^from-the-second$/m);
    expect(await rowCount(workspace.page)).toBe(await rowCount(page));
    expect(await rowCount(page)).toBeLessThan(rows);
    await keys.getByRole("button", { name: "Ctrl" }).tap();
    await page.keyboard.type("c");
    await eventually(() => screenText(page)).toContain("^C");
    await eventually(() => keys.getByRole("button", { name: "Ctrl" }).getAttribute("aria-pressed")).toBe("false");
    await keys.getByRole("button", { name: "Up" }).tap();
    await eventually(async () => (await screenText(page)).match(/sleep 100/g)?.length).toBe(2);
    await page.keyboard.press("Control+U");
    await page.keyboard.type("exit 7\n");
    await expectVisible(page.getByText("The program has ended (exit 7)."));
    await page.context().close();
  });

  test("terminals can be opened, split, renamed and closed", async () => {
    const { page } = await suite.sharedWorkspace();
    const tabs = page.getByRole("tablist", { name: "Terminals" }).getByRole("tab");
    await eventually(() => tabs.count()).toBe(1);
    await page.getByRole("button", { name: "New terminal" }).click();
    await eventually(() => tabs.count()).toBe(2);
    await page.getByRole("button", { name: "Split terminal" }).click();
    await eventually(() => page.locator(".terminal-view").count()).toBe(2);
    await expectVisible(page.getByRole("tab", { name: "Terminal 2 | Terminal 3" }));
    await page.locator(".pane-head").getByRole("button", { name: "Close Terminal 2" }).click();
    await eventually(() => page.locator(".terminal-view").count()).toBe(1);
    await expectVisible(page.getByRole("tab", { name: "Terminal 3", exact: true }));
    await eventually(() => focusIsIn(page, ".terminal-view")).toBe(true);
    await tabs.first().dblclick();
    await page.getByRole("textbox", { name: "Name" }).fill("builder");
    await page.getByRole("button", { name: "Rename" }).click();
    await expectVisible(page.getByRole("tab", { name: "builder" }));
    await page.getByTitle("Close builder").click();
    await eventually(() => tabs.count()).toBe(1);
  });

  test("output can be searched and cleared, names of files are links, and a shell that a person leaves is closed", async () => {
    const { page } = await suite.sharedWorkspace({ "src/a.rs": "one;\ntwo;\nthree;\n" });
    await typeInTerminal(page, "cd src; echo needle-1; echo ./a.rs:3:2; echo Needle-2\n");
    await eventually(() => screenText(page)).toMatch(/^Needle-2$/m);
    await page.keyboard.press("Control+F");
    await page.getByRole("textbox", { name: "Find in the terminal" }).pressSequentially("needle-");
    await expectVisible(page.getByText("4 of 4"));
    // xterm drops its selection when the size changes.
    const rows = page.locator(".xterm-rows > div");
    const before = await rows.count();
    await page.setViewportSize({ width: 1280, height: 680 });
    await eventually(() => rows.count()).not.toBe(before);
    await page.keyboard.press("Enter");
    await expectVisible(page.getByText("3 of 4"));
    await page.keyboard.press("Shift+Enter");
    await expectVisible(page.getByText("4 of 4"));
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await eventually(() => focusIsIn(page, ".terminal-view .xterm")).toBe(true);

    await clickInTerminal(page, "./a.rs:3:2");
    await expectVisible(page.getByLabel("Text of src/a.rs"));
    await expectVisible(page.getByText("Ln 3, Col 2"));

    await page.keyboard.press("F1");
    await page.keyboard.type("Clear terminal");
    await page.keyboard.press("Enter");
    await eventually(() => screenText(page)).toMatch(/^\S+ \$$/);
    await page.reload();
    await eventually(() => screenText(page)).toMatch(/^\S+ \$$/);
    await typeInTerminal(page, "exit\n");
    await expectGone(page.locator(".terminal-view"));
  });

  test("the active terminal's tab is scrolled into view, and opening an empty panel creates a terminal", async () => {
    const { page } = await suite.sharedWorkspace();
    await page.setViewportSize({ width: 800, height: 600 });
    const terminals = page.getByRole("tablist", { name: "Terminals" });
    await page.getByRole("button", { name: "Side panel" }).click();
    for (let count = 1; count <= 5; count++) {
      await page.getByRole("button", { name: "New terminal" }).first().click();
      await eventually(() => terminals.getByRole("tab").count()).toBe(count);
    }
    const right = async (what: typeof terminals) => ((box) => box!.x + box!.width)(await what.boundingBox());
    await eventually(async () => (await right(terminals)) >= (await right(terminals.getByRole("tab").last()))).toBe(true);

    // A new terminal takes the focus when it is ready, and with it the next key.
    await page.locator(".terminal-view textarea:focus").waitFor();
    for (let count = 4; count >= 0; count--) {
      await terminals.getByRole("tab").last().press("Delete");
      await eventually(() => terminals.getByRole("tab").count()).toBe(count);
    }
    await page.getByRole("button", { name: "Hide terminals" }).click();
    await page.getByRole("button", { name: "Terminals", exact: true }).click();
    await typeInTerminal(page, "echo here-$((1+1))\n");
    await eventually(() => screenText(page)).toContain("here-2");
  });
});
