import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const files = globSync("{tests,contract,client,daemon,native,server,cli,web,scripts}/**/*.{ts,tsx}", {
  cwd: root,
  exclude: ["**/node_modules/**", "**/dist/**"],
})
  .filter((file) => file !== "tests/support/machine.ts" && file !== "tests/support/run/guard.test.ts")
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }))
  .filter(({ text }) => text.includes('from "vitest"'));

test("only tests/support/machine.ts skips tests", () => {
  expect(files.length).toBeGreaterThan(100);
  expect(filesWith(/\b(describe|test)\.(skip|skipIf|runIf|only|todo)\b|\b(context|ctx)\.skip\(|\{ skip \}/)).toEqual([]);
});

test("tests are defined with `test`, not with `it`", () => {
  expect(filesWith(/import \{[^}]*\bit\b[^}]*\} from "vitest"/)).toEqual([]);
});

test("no test passes by returning early", () => {
  // Parsing is slow, and most files have no such statement.
  const suspects = files.filter(({ text }) => /^\s*if \(/m.test(text) && /\breturn\b/.test(text));
  expect(suspects.flatMap(({ file, text }) => earlyReturns(file, text))).toEqual([]);
});

const filesWith = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

// The places where the function of a test has `if (…) return;` among its own statements.
function earlyReturns(file: string, text: string): string[] {
  const found: string[] = [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(test|testWith)\b/.test(node.expression.getText(source)))
      for (const statement of node.arguments.flatMap(statementsOf))
        if (ts.isIfStatement(statement) && isReturn(statement.thenStatement))
          found.push(`${file}:${source.getLineAndCharacterOfPosition(statement.getStart(source)).line + 1}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function statementsOf(argument: ts.Expression): readonly ts.Statement[] {
  const isFunction = ts.isArrowFunction(argument) || ts.isFunctionExpression(argument);
  return isFunction && ts.isBlock(argument.body) ? argument.body.statements : [];
}

function isReturn(statement: ts.Statement): boolean {
  return ts.isReturnStatement(statement) || (ts.isBlock(statement) && statement.statements.some(isReturn));
}
