import { expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import {
  clickInTerminal,
  editor,
  eventually,
  expectGone,
  expectVisible,
  openFile,
  tab,
  typeInTerminal,
} from "../support/browser/workspace.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";

describeOnSharedServer("ports and their previews", (suite) => {
  test("a new port is announced, and its preview opens beside the code or in a tab, on its own origin", async () => {
    const server = `require("node:http").createServer((q, r) => {
      r.setHeader("content-type", "text/html");
      r.end("<h1>hello from " + q.url + "</h1><a href='/inside'>go inside</a>");
    }).listen(4321);`;
    await using workspace = await suite.openWorkspace({ files: { "server.cjs": server, "a.txt": "a\n" } });
    const { page } = workspace;
    await typeInTerminal(page, "node server.cjs || /opt/berth/bin/node server.cjs\n");
    const frame = page.frameLocator('iframe[title="Preview of port 4321"]');
    await openFile(page, "a.txt");
    await expectVisible(page.getByText("listens on port 4321."));
    await page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Open" }).click();
    await expectVisible(frame.getByRole("heading", { name: "hello from /" }));
    await expectVisible(editor(page));
    await page.getByRole("combobox", { name: "Size of the page" }).selectOption("Phone, 390 × 844");
    await eventually(() => page.frames()[1]!.evaluate("innerWidth")).toBe(390);
    expect(await seriousFaults(page)).toEqual([]);
    await tab(page, "Port 4321").press("Delete");
    await expectGone(page.locator("iframe"));

    await page.getByRole("button", { name: "Port 4321" }).click();
    await expectVisible(page.getByRole("button", { name: "Ports, 1 open" }));
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByTitle("Show port 4321 beside the code").click();
    await expectVisible(frame.getByRole("heading", { name: "hello from /" }));
    await tab(page, "Port 4321").press("Delete");
    // A link for others opens in a browser that has no access to the workspace.
    await page.getByRole("button", { name: "Share port 4321" }).click();
    await page.getByRole("button", { name: "8 hours" }).click();
    const link = await page.getByRole("textbox", { name: "Link" }).inputValue();
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    const visitor = await (await suite.browser.newContext()).newPage();
    await visitor.goto(link);
    await expectVisible(visitor.getByRole("heading", { name: "hello from /" }));
    expect((await visitor.goto(new URL(page.url()).href))!.status()).toBe(401);

    await page.getByRole("button", { name: "Preview port 4321 here" }).click();
    await expectVisible(frame.getByRole("heading", { name: "hello from /" }));

    // The address follows links and scripts in the page, and the page stays while another tab is shown.
    const path = page.getByRole("textbox", { name: "Path" });
    await frame.getByRole("link", { name: "go inside" }).click();
    await eventually(() => path.inputValue()).toBe("/inside");
    const inside = page.frames().find((each) => each.url().endsWith("/inside"))!;
    await inside.evaluate("history.pushState(null, '', '/routed?by=script')");
    await eventually(() => path.inputValue()).toBe("/routed?by=script");
    await inside.evaluate("window.stayed = true");
    await page.getByRole("button", { name: "Files", exact: true }).click();
    await openFile(page, "a.txt");
    await expectGone(page.locator(".preview:visible"));
    await tab(page, "Port 4321").click();
    expect(await inside.evaluate("window.stayed")).toBe(true);
    expect(await path.inputValue()).toBe("/routed?by=script");

    await path.fill("/other");
    await page.keyboard.press("Enter");
    await expectVisible(frame.getByRole("heading", { name: "hello from /other" }));
    const opening = page.context().waitForEvent("page");
    await page.getByRole("button", { name: "Open in a new tab" }).click();
    const opened = await opening;
    await expectVisible(opened.getByRole("heading", { name: "hello from /other" }));
    expect(await opened.evaluate<boolean>("window.opener === null")).toBe(true);
    const origins = page.frames().map((each) => new URL(each.url()).origin);
    expect(new Set(origins).size).toBe(2);

    // The browser's own localhost is another machine, so the link leads to the preview.
    await workspace.exec("echo 'see http://127.0.0.1:4321/printed?by=server' > note.txt");
    await page.getByRole("button", { name: "New terminal" }).click();
    await typeInTerminal(page, "cat note.txt\n");
    await clickInTerminal(page, "127.0.0.1:4321/printed");
    await expectVisible(frame.getByRole("heading", { name: "hello from /printed?by=server" }));
    await eventually(() => path.inputValue()).toBe("/printed?by=server");
  });
});
