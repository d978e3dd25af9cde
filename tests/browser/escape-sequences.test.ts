import { expect, test } from "vitest";
import { eventually, screenText, typeInTerminal } from "../support/browser/workspace.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";

// The output of programs is untrusted. Escape sequences must not affect anything outside the screen.
describeInBrowser("escape sequences in a terminal", (suite) => {
  test("cannot make the terminal type the title or the clipboard back into the shell", async () => {
    await using workspace = await suite.openWorkspace();
    await typeInTerminal(
      workspace.page,
      String.raw`printf '\e]2;evil\a\e[21t\e]52;c;?\a'; read -t 1 -n 99 typed; echo "typed=[$typed]"` + "\n",
    );
    await eventually(() => screenText(workspace.page)).toContain("typed=[]");
  });

  test("cannot change the page title, write to the clipboard or run a script through a link", async () => {
    await using workspace = await suite.openWorkspace();
    const { page } = workspace;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(page.url()).origin });
    await page.evaluate("navigator.clipboard.writeText('mine')");
    const title = await page.title();
    const stolen = Buffer.from("stolen").toString("base64");
    const script = String.raw`printf '\e]0;evil\a\e]52;c;${stolen}\a\e]8;;javascript:document.title=1\e\\click-me\e]8;;\e\\ done\n'`;
    await typeInTerminal(page, `${script}\n`);
    await eventually(() => screenText(page)).toContain("click-me done");
    const screen = page.locator(".xterm-screen").first();
    const box = (await screen.boundingBox())!;
    await page.keyboard.down("Control");
    for (let y = 8; y < Math.min(box.height, 140); y += 12) await page.mouse.click(box.x + 30, box.y + y);
    await page.keyboard.up("Control");
    expect(await page.title()).toBe(title);
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("mine");
  });
});
