import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolCallUpdate } from "@agentclientprotocol/sdk";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PermissionRule } from "@berth/contract/agent.ts";
import { parseRule } from "../../programs/permission-rule.ts";
import { decide } from "./decide.ts";
import { commandPattern, pathPattern } from "./glob.ts";
import { toolFacts } from "./tool-facts.ts";

let workspace: string;
beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), "berth-rules-"));
  mkdirSync(join(workspace, "src/deep"), { recursive: true });
  writeFileSync(join(workspace, "secret"), "");
  symlinkSync("../secret", join(workspace, "src/link"));
  symlinkSync("/etc", join(workspace, "src/etc"));
  symlinkSync("src", join(workspace, "alias"));
  symlinkSync("/nowhere/new", join(workspace, "src/new"));
  symlinkSync("circle", join(workspace, "src/circle"));
});
afterAll(() => rmSync(workspace, { recursive: true }));

const judge = (rules: PermissionRule[], ...calls: Partial<ToolCallUpdate>[]) =>
  decide(rules.map(parseRule), toolFacts(calls as ToolCallUpdate[], workspace));
const shell = (command: unknown, more: object = {}) => ({ kind: "execute" as const, rawInput: { command, ...more } });
const edit = (...paths: string[]) => ({ kind: "edit" as const, locations: paths.map((path) => ({ path })) });

test("the tools of goose that write files are edits, although it names no kind, and other tools are not", () => {
  const rules: PermissionRule[] = [{ tool: "edit", path: "src/**", allow: true }];
  const goose = (title: string, path: string) => ({ kind: "other" as const, title, rawInput: { path, content: "x" } });
  expect(judge(rules, goose("write · a.ts", join(workspace, "src/a.ts")))).toBe("allow");
  expect(judge(rules, goose("edit · a.ts", "src/a.ts"))).toBe("allow");
  expect(judge(rules, goose("write · secret", "secret"))).toBe("ask");
  expect(judge(rules, goose("blog: write · a.ts", "src/a.ts"))).toBe("ask");
  expect(judge(rules, goose("writer", "src/a.ts"))).toBe("ask");
});

describe("a rule that allows a command", () => {
  const rules: PermissionRule[] = [{ tool: "shell", command: "npm test*", allow: true }];

  test.each(["npm test", "npm test -- --run src/deep", "npm test 'a b' \"c\""])("allows %s", (command) => {
    expect(judge(rules, shell(command))).toBe("allow");
    // goose has no kind for it, and others send the words of a shell.
    expect(judge(rules, { kind: "other", rawInput: { command } })).toBe("allow");
    expect(judge(rules, shell(["bash", "-lc", command]))).toBe("allow");
  });

  test.each([
    "npm test; rm -rf ~",
    "npm test && x",
    "npm test & x",
    "npm test | sh",
    "npm test $(x)",
    "npm test `x`",
    "npm test $HOME",
    "npm test > /etc/passwd",
    "npm test < /etc/passwd",
    "npm test\nrm -rf ~",
    "npm test\r\nrm -rf ~",
    "npm test \\\nx",
    "npm test <(x)",
    " npm test",
    "xnpm test",
    "npm  test",
    "",
  ])("does not allow %j", (command) => {
    expect(judge(rules, shell(command))).toBe("ask");
    expect(judge(rules, shell(["sh", "-c", command]))).toBe("ask");
  });

  test("allows nothing that the agent does not say, says twice in different words, or does elsewhere", () => {
    expect(judge(rules, { kind: "execute", rawInput: {} })).toBe("ask");
    expect(judge(rules, shell("npm test"), shell("rm -rf ~"))).toBe("ask");
    expect(judge(rules, shell(["npm", "test", "; rm -rf ~"]))).toBe("ask");
    expect(judge(rules, shell("npm test", { workdir: "/etc" }))).toBe("ask");
    expect(judge(rules, shell("npm test", { cwd: workspace }))).toBe("allow");
    expect(judge(rules, { ...shell("npm test"), kind: "other", locations: [{ path: "/etc" }] })).toBe("ask");
    expect(judge([{ tool: "edit", allow: true }], shell("npm test"))).toBe("ask");
  });

  test("never matches beyond its own text with a character of the shell", () => {
    const special = fc.constantFrom(...";&|<>$()`\\\n\r".split(""));
    fc.assert(
      fc.property(fc.string(), special, fc.string(), (before, character, after) => {
        expect(commandPattern("npm test*", { allow: true }).test(`npm test${before}${character}${after}`)).toBe(false);
      }),
    );
  });
});

test("a rule that denies a command matches everything that its glob covers, and asks if the command is not known", () => {
  const rules: PermissionRule[] = [
    { tool: "shell", command: "*rm *", allow: false },
    { tool: "shell", allow: true },
  ];
  for (const command of ["rm -rf ~", "cd x && rm -rf ~", "a\nrm x"]) expect(judge(rules, shell(command))).toBe("deny");
  expect(judge(rules, shell("ls"))).toBe("allow");
  expect(judge(rules, { kind: "execute" })).toBe("ask");
});

describe("a rule with a path", () => {
  const rules: PermissionRule[] = [{ tool: "edit", path: "src/**", allow: true }];

  test.each(["src/a.ts", "src/deep/b", "./src/a.ts", "src/deep/../a.ts", "alias/a"])("allows %s", (path) => {
    expect(judge(rules, edit(path))).toBe("allow");
    expect(judge(rules, edit(join(workspace, path)))).toBe("allow");
  });

  test.each([
    "src/../secret",
    "src/link",
    "src/etc/passwd",
    "src/new",
    "src/circle",
    "../src/a.ts",
    "/etc/passwd",
    "srcs/a",
    "secret",
    ".",
  ])("does not allow %s", (path) => {
    expect(judge(rules, edit(path))).toBe("ask");
    expect(judge(rules, edit("src/a.ts", path))).toBe("ask");
  });

  test("allows nothing without files, and looks at all places in which an agent names them", () => {
    expect(judge(rules, { kind: "edit", locations: [] })).toBe("ask");
    expect(judge(rules, edit("src/a.ts"), { kind: "edit", rawInput: { filePath: "secret" } })).toBe("ask");
    const moved = { files: [{ filePath: "src/a.ts", movePath: "/tmp/moved" }] };
    expect(judge(rules, { kind: "edit", locations: [{ path: "src/a.ts" }], rawInput: moved })).toBe("ask");
    const content = [{ type: "diff" as const, path: "secret", newText: "" }];
    expect(judge(rules, { ...edit("src/a.ts"), content })).toBe("ask");
    expect(judge(rules, { ...edit("src/a.ts"), kind: "delete" })).toBe("ask");
  });

  test("denies if one of the files matches, by its name or where it leads, and asks if there are none", () => {
    const denied: PermissionRule[] = [
      { tool: "edit", path: "secret", allow: false },
      { tool: "edit", allow: true },
    ];
    for (const path of ["secret", "src/../secret", "src/link"]) expect(judge(denied, edit("src/a.ts", path))).toBe("deny");
    expect(judge(denied, edit("src/a.ts"))).toBe("allow");
    expect(judge(denied, { kind: "edit" })).toBe("ask");
    expect(judge([{ tool: "edit", path: "src/link", allow: false }, ...denied], edit("src/link"))).toBe("deny");
  });
});

test("the first rule that matches decides, and the rest asks", () => {
  const rules: PermissionRule[] = [
    { tool: "edit", path: "src/deep/**", allow: false },
    { tool: "edit", path: "src/**", allow: true },
    { tool: "fetch", allow: false },
  ];
  expect(judge(rules, edit("src/deep/a"))).toBe("deny");
  expect(judge(rules, edit("src/a"))).toBe("allow");
  expect(judge(rules, { kind: "fetch" })).toBe("deny");
  expect(judge(rules, { kind: "think" })).toBe("ask");
  expect(judge([...rules, { tool: "*", allow: true }], { kind: "think" })).toBe("allow");
  expect(judge([], edit("src/a"))).toBe("ask");
});

test("a glob of paths", () => {
  const matches = (glob: string, path: string) => pathPattern(glob).test(path);
  expect(["b", "x/b", "x/y/b", "x/b/c"].map((path) => matches("**/b", path))).toEqual([true, true, true, false]);
  expect(["src/a", "src/a/b", "src", "xsrc/a"].map((path) => matches("src/*", path))).toEqual([true, false, false, false]);
  expect(["a+b", "aab"].map((path) => matches("./a+b", path))).toEqual([true, false]);
  expect(matches("**", "a/b")).toBe(true);
});

test("a rule with a field that does not fit, or that is not known, is refused", () => {
  for (const rule of [
    { tool: "shell", path: "src/**", allow: true },
    { tool: "edit", command: "x", allow: true },
    { tool: "fetch", path: "x", allow: true },
    { tool: "*", path: "x", allow: true },
    { tool: "edit", paths: "x", allow: true },
    { tool: "edit", path: 5, allow: true },
    { tool: "edit", path: "", allow: true },
    { tool: "edit", path: "/etc/**", allow: false },
    { tool: "edit", path: "../x", allow: false },
    { tool: "execute", allow: true },
    { tool: "toString", allow: true },
    { tool: "edit" },
    { tool: "edit", allow: "yes" },
    null,
    "allow",
  ])
    expect(() => parseRule(rule)).toThrow(/must be|has no field/);
});
