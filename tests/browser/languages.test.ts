import { test } from "vitest";
import { describeInBrowser } from "../support/browser/browser-suite.ts";
import { expectVisible, openFile } from "../support/browser/workspace.ts";

describeInBrowser("language servers in the workspace", (suite) => {
  test("TypeScript: errors are shown", async () => {
    const files = {
      "tsconfig.json": `{"compilerOptions":{"strict":true,"module":"esnext","moduleResolution":"bundler","allowImportingTsExtensions":true,"noEmit":true}}\n`,
      "greet.ts": "export function greet(name: string): string {\n  return `Hello ${name}`;\n}\n",
      "main.ts": `import { greet } from "./greet.ts";\n\nconst  text: number = greet("you");\nconsole.log(text);\n`,
    };
    await using workspace = await suite.openWorkspace({ files });
    const { page } = workspace;
    await openFile(page, "main.ts");
    await expectVisible(page.locator(".cm-lintRange-error", { hasText: "text" }));
    await expectVisible(page.getByLabel("1 error and 0 warnings in this file"));
  });
});
