import { expect, test } from "vitest";
import type { Page } from "playwright-core";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";
import { closeTabs, editor, eventually, expectGone, expectVisible, openFile, tab } from "../../support/browser/workspace.ts";

const TYPESCRIPT = {
  "tsconfig.json": `{"compilerOptions":{"strict":true,"module":"esnext","moduleResolution":"bundler","allowImportingTsExtensions":true,"noEmit":true}}\n`,
  "greet.ts": "export function greet(name: string): string {\n  return `Hello ${name}`;\n}\n",
  "main.ts": `import { greet } from "./greet.ts";\n\nconst  text: number = greet("you");\nconsole.log(text);\nawait import("./late.ts");\n`,
  "other.ts": `import { greet } from "./greet.ts";\n\nconsole.log(greet("them"));\n`,
};
const PYTHON = {
  "greet.py": 'def greet(name: str) -> str:\n    return "Hello " + name\n',
  "main.py": 'from greet import greet\n\ntext: int = greet("you")\nprint(text)\n',
};

// The name on a line of the active editor.
const nameOn = (page: Page, line: number, name: string) =>
  editor(page).locator(".cm-line").nth(line).getByText(name, { exact: true }).first();

async function rename(page: Page, to: string): Promise<void> {
  await page.keyboard.press("F2");
  await page.getByRole("textbox", { name: "New name" }).fill(to);
  await page.keyboard.press("Enter");
}

describeOnSharedServer("language servers in the workspace", (suite) => {
  test("quick fixes, problems of all files, completion and hover come from the server, and only files with a server have them", async () => {
    const fix = `import { z } from "./z.ts";\nimport { a } from "./a.ts";\nexport const all: number = greet("all") + a + z;\n`;
    const values = { "a.ts": "export const a = 1;\n", "z.ts": "export const z = 1;\n" };
    const { page } = await suite.sharedWorkspace({ ...TYPESCRIPT, ...values, "fix.ts": fix, "notes.txt": "F12\n" });
    await openFile(page, "fix.ts");
    await expectVisible(page.locator(".cm-lintRange-error", { hasText: "greet" }));
    await nameOn(page, 2, "greet").click();
    // A light bulb shows where the server can fix a problem, and does the same as the key.
    await page.locator(".cm-bulb").click();
    await expectVisible(page.getByRole("dialog", { name: "Quick fixes" }));
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+.");
    await page.getByRole("option", { name: /import from "\.\/greet/ }).click();
    await eventually(() => editor(page).innerText()).toContain("import { greet } from");
    await expectGone(page.locator(".cm-bulb"));
    await page.keyboard.press("Shift+Alt+O");
    await eventually(async () => (await editor(page).innerText()).split("\n")[0]).toContain("./a.ts");
    await openFile(page, "a.ts");
    await page.getByRole("button", { name: "1 error and 0 warnings" }).click();
    await expectVisible(page.getByRole("region", { name: "Problems in fix.ts" }).getByText("is not assignable to type 'number'"));
    await editor(page).click();
    await page.keyboard.press("F8");
    await expectVisible(page.getByLabel("Text of fix.ts"));
    await page.keyboard.press("Control+Shift+E");
    await openFile(page, "other.ts");
    await nameOn(page, 2, "greet").hover();
    await expectVisible(page.locator(".cm-tooltip").getByText("greet(name: string): string"));
    await editor(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("greet('x').toUpper");
    await expectVisible(page.getByRole("option", { name: "toUpperCase" }));
    await page.keyboard.press("Tab");
    await page.keyboard.type(".missing");
    await eventually(() => editor(page).innerText()).toContain("greet('x').toUpperCase.missing");
    // An accepted name brings its import, and typing goes on behind it.
    await openFile(page, "z.ts");
    await editor(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("export const y = gree");
    await expectVisible(page.getByRole("option", { name: /^greet\.\/greet/ }));
    await page.keyboard.press("Tab");
    await page.keyboard.type("(`y`)");
    await eventually(() => editor(page).innerText()).toMatch(
      /^import \{ greet \} from "\.\/greet(?:\.ts)?";\n[^]*export const y = greet\(`y`\)/,
    );
    await openFile(page, "notes.txt");
    await editor(page).click();
    await page.keyboard.press("F12");
    await page.keyboard.press("Control+Shift+P");
    await page.keyboard.type("definition");
    await expectGone(page.getByRole("option", { name: "Go to definition" }));
    expect(await page.locator(".notice").count()).toBe(0);
    await page.keyboard.press("Escape");
    // After a reload, the problems of tabs that were not shown yet count too.
    await expectVisible(page.getByRole("button", { name: "2 errors and 0 warnings" }));
    await page.reload();
    await expectVisible(page.getByLabel("Text of notes.txt"));
    await expectVisible(page.getByRole("button", { name: "2 errors and 0 warnings" }));
    await closeTabs(page);
  });
  test("TypeScript: errors, definition, references, rename across files and format", async () => {
    // Uses a workspace of its own, because late diagnostics of other files would change the number of errors.
    await using workspace = await suite.openWorkspace({ files: { ...TYPESCRIPT, "plain.js": `require("express");\n` } });
    const { page } = workspace;
    await openFile(page, "plain.js");
    await openFile(page, "main.ts");
    await expectVisible(page.locator(".cm-lintRange-error", { hasText: "text" }));
    await page.getByRole("button", { name: "2 errors and 0 warnings" }).waitFor();
    await workspace.write("late.ts", "export {};\n");
    await page.getByRole("button", { name: "1 error and 0 warnings" }).waitFor();
    await nameOn(page, 2, "greet").click();
    await page.keyboard.press("F8");
    await expectVisible(page.getByText("Type 'string' is not assignable to type 'number'"));

    await nameOn(page, 2, "greet").click({ modifiers: ["Control"] });
    await expectVisible(page.getByLabel("Text of greet.ts"));
    await eventually(() => page.locator(".status-bar").innerText()).toContain("Ln 1, Col 17");
    await page.keyboard.press("Alt+ArrowLeft");
    await expectVisible(page.getByLabel("Text of main.ts"));
    await eventually(() => page.locator(".status-bar").innerText()).toContain("Ln 3, Col ");
    await page.keyboard.press("Alt+ArrowRight");
    await expectVisible(page.getByLabel("Text of greet.ts"));
    await eventually(() => page.locator(".status-bar").innerText()).toContain("Ln 1, Col 17");

    await page.keyboard.press("Shift+F12");
    await expectVisible(page.getByRole("dialog", { name: "References to greet" }).getByText("other.ts:3"));
    await page.keyboard.press("Escape");
    await rename(page, "welcome");
    await eventually(() => workspace.read("other.ts")).toContain(`console.log(welcome("them"))`);
    await eventually(() => workspace.read("greet.ts")).toContain("function welcome(");
    await tab(page, "main.ts").click();
    await eventually(() => editor(page).innerText()).toContain(`= welcome("you")`);

    // The last edit of an open file can be undone.
    await editor(page).click();
    await page.keyboard.press("Shift+Alt+F");
    await eventually(() => workspace.read("main.ts")).toContain(`const text: number = welcome("you");`);
    await page.keyboard.press("Control+Z");
    await eventually(() => editor(page).innerText()).toContain("const  text");
    await page.keyboard.press("Control+Z");
    await eventually(() => editor(page).innerText()).toContain(`greet("you")`);
    // The server has installed no types for plain.js.
    expect(await workspace.exec("ls -A ~/.cache/typescript ~/.npm 2>/dev/null; true")).toBe("");
  });

  test("a server that keeps failing is mentioned in the status bar, and a save formats if that is set", async () => {
    const files = {
      "run.sh": "echo hello\n",
      "node_modules/.bin/bash-language-server": "#!/bin/sh\nexit 3\n",
      "spaced.ts": "const  x = 1;\n",
    };
    await using workspace = await suite.openWorkspace({ files });
    const { page } = workspace;
    await workspace.exec("chmod +x node_modules/.bin/*");
    await openFile(page, "run.sh");
    await openFile(page, "spaced.ts");
    await page.getByRole("button", { name: "0 errors and 0 warnings" }).waitFor();
    await page.keyboard.press("Control+,");
    await page.getByRole("checkbox", { name: "Format on save" }).check();
    await tab(page, "spaced.ts").click();
    await editor(page).click();
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.read("spaced.ts")).toBe("const x = 1;\n");
    await expectVisible(page.getByText("bash-language-server does not run"));
  });

  test("Python: errors, definition, rename across files, and format with an installed formatter", async () => {
    const workspace = await suite.sharedWorkspace(PYTHON);
    const { page } = workspace;
    await openFile(page, "main.py");
    // Pyright starts slowly if the machine is busy.
    await page.locator(".cm-lintRange-error", { hasText: "greet" }).waitFor({ timeout: 90_000 });
    await nameOn(page, 2, "greet").click();
    await page.keyboard.press("F12");
    await expectVisible(page.getByLabel("Text of greet.py"));
    await eventually(() => page.locator(".status-bar").innerText()).toContain("Ln 1, Col 5");
    await rename(page, "welcome");
    await eventually(() => workspace.read("main.py")).toBe('from greet import welcome\n\ntext: int = welcome("you")\nprint(text)\n');
    await eventually(() => workspace.read("greet.py")).toContain("def welcome(");

    await page.keyboard.press("Shift+Alt+F");
    await expectVisible(page.getByText("No formatter is installed for this file"));
    await workspace.write(".venv/bin/black", "#!/bin/sh\nexec sed 's/ *+ */ + /'\n");
    await workspace.exec("chmod +x .venv/bin/black");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("total = 1+2");
    await page.keyboard.press("Shift+Alt+F");
    await eventually(() => workspace.read("greet.py")).toContain("total = 1 + 2");
  });
});
