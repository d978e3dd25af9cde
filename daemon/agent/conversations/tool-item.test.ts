import { describe, expect, test } from "vitest";
import { commandsOf, modelsOf, modesOf, optionOf } from "./offers.ts";
import { planOf, toolItem } from "./tool-item.ts";

const item = (call: object, old: Parameters<typeof toolItem>[1] = null) => toolItem({ toolCallId: "1", ...call }, old, "/workspace");

describe("the item of a tool call", () => {
  test("has paths relative to the workspace, whatever folder the agent resolves them against", () => {
    const locations = [{ path: "/workspace/src/a.ts", line: 3 }, { path: "/etc/hosts" }];
    const pending = item({ title: "write · /workspace/src/a.ts", kind: "edit", locations });
    expect(pending).toMatchObject({ title: "write · src/a.ts", locations: [{ path: "src/a.ts", line: 3 }, { path: "/etc/hosts" }] });
    expect(item({ title: "workspace/src/a.ts", status: "completed" }, pending)).toMatchObject({ title: "src/a.ts", toolKind: "edit" });
    // The repository contains a folder with the same name as the workspace.
    expect(item({ title: "workspace/b.ts", locations: [{ path: "/workspace/workspace/b.ts" }] }).title).toBe("workspace/b.ts");
  });

  test("shows an edit that the agent announces until the tool is done", () => {
    const content = [{ type: "diff", path: "/workspace/a.ts", oldText: "one\ntwo\n", newText: "one\nzwei\n" }];
    const pending = item({ title: "Edit", kind: "edit", content });
    const lines = [
      { kind: "same", text: "one" },
      { kind: "removed", text: "two" },
      { kind: "added", text: "zwei" },
    ];
    expect(pending.content).toEqual([{ type: "diff", path: "a.ts", hunks: [{ lines }] }]);
    expect(item({ status: "completed" }, pending)).toMatchObject({ content: [], locations: [{ path: "a.ts" }] });
    expect(item({ status: "completed", content }, pending).content).toEqual([]);
  });

  test("has the kind that the agent names, or that follows from its title or its input", () => {
    const kindOf = (call: object, old?: Parameters<typeof toolItem>[1]) => item(call, old).toolKind;
    const pending = item({ title: "write · a.ts" });
    expect(pending.toolKind).toBe("edit");
    expect(kindOf({ status: "completed" }, pending)).toBe("edit");
    expect(kindOf({ title: "shell · ls", rawInput: { command: "ls" } })).toBe("execute");
    expect(kindOf({ title: "write · a.ts", kind: "read" })).toBe("read");
    for (const title of ["blog: write · a.ts", "writes", "tree · ."]) expect(kindOf({ title })).toBe("other");
  });

  test("names the files of tools that report them in the format of their agent", () => {
    const files = [
      { filePath: "/workspace/a.ts", type: "update" },
      { filePath: "/workspace/b.ts", movePath: "/workspace/c.ts", type: "move" },
    ];
    const title = "Success. Updated the following files:\nM workspace/a.ts\nA workspace/b.ts";
    const call = { status: "completed", kind: "edit", title, rawOutput: { metadata: { files } } };
    expect(item(call)).toMatchObject({ title: "a.ts, c.ts", locations: [{ path: "a.ts" }, { path: "c.ts" }] });
    const written = item({ status: "completed", kind: "edit", rawInput: { filePath: "/workspace/new.ts", content: "new" } });
    expect(written.locations).toEqual([{ path: "new.ts" }]);
    expect(item({ kind: "edit", rawInput: { path: "/workspace/a.ts", before: "a", after: "b" } }).locations).toEqual([{ path: "a.ts" }]);
    expect(item({ kind: "read", rawInput: { path: "." } }).locations).toEqual([]);
  });

  test("keeps fields that an update omits", () => {
    const old = item({
      title: "ls",
      kind: "execute",
      rawInput: { command: "ls" },
      content: [{ type: "content", content: { type: "text", text: "a" } }],
    });
    expect(item({ status: "in_progress" }, old)).toEqual({ ...old, status: "running" });
    expect(item({ content: [] }, old).content).toEqual([]);
  });
});

test("a to-do list becomes a plan", () => {
  const todos = [
    { content: "read", status: "completed", priority: "high" },
    { content: "write", status: "in_progress" },
    { content: "dropped", status: "cancelled", priority: "low" },
    { content: 5 },
    null,
  ];
  expect(planOf({ toolCallId: "1", rawInput: { todos } })).toEqual([
    { text: "read", status: "completed", priority: "high" },
    { text: "write", status: "in_progress", priority: "medium" },
  ]);
  for (const rawInput of [undefined, null, {}, { todos: "none" }]) expect(planOf({ toolCallId: "1", rawInput })).toBeNull();
});

test("modes are read from the session's modes or from its mode option, with or without groups", () => {
  const current = {
    current: "b",
    available: [
      { id: "a", name: "A" },
      { id: "b", name: "B", description: "better" },
    ],
  };
  const modes = {
    currentModeId: "b",
    availableModes: [
      { id: "a", name: "A", description: null },
      { id: "b", name: "B", description: "better" },
    ],
  };
  expect(modesOf({ modes })).toEqual(current);
  const [one, two] = [
    { value: "a", name: "A" },
    { value: "b", name: "B", description: "better" },
  ];
  const option = { id: "m", name: "Mode", category: "mode", type: "select" as const, currentValue: "b" };
  const model = { id: "model", name: "Model", category: "model", type: "select" as const, currentValue: "x", options: [] };
  expect(modesOf({ configOptions: [model, { ...option, options: [one, two] }] })).toEqual(current);
  expect(modesOf({ configOptions: [{ ...option, options: [{ group: "g", name: "G", options: [one, two] }] }] })).toEqual(current);
  expect(optionOf([model, { ...option, options: [one, two] }], "mode")?.id).toBe("m");
  expect(modelsOf({ configOptions: [{ ...option, category: "model", options: [one, two] }] })).toEqual(current);
  expect([modesOf({}), modesOf({ configOptions: [model] }), modesOf({ modes: null, configOptions: null })]).toEqual([null, null, null]);
});

test("commands have a name without a slash, a short description and a hint", () => {
  const long = "x".repeat(1000);
  expect(
    commandsOf([
      { name: "/review", description: long, input: { hint: "branch" } },
      { name: "plan", description: "Plans" },
    ]),
  ).toEqual([
    { name: "review", description: `${"x".repeat(300)}…`, hint: "branch" },
    { name: "plan", description: "Plans" },
  ]);
});
