import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildProgram } from "./berth.ts";

test("docs/command-line.md shows exactly the commands that exist", async () => {
  const page = readFileSync(join(import.meta.dirname, "../docs/command-line.md"), "utf8");
  const shown = new Set(
    [...page.matchAll(/^ *berth ([a-z]+)(?: ([a-z]+)\b)?/gm)].map(([, group, name]) => `${group} ${name ?? ""}`.trim()),
  );
  expect([...shown].toSorted()).toEqual((await allCommands()).toSorted());
});

async function allCommands(): Promise<string[]> {
  const groups = (await buildProgram([])).commands.map((command) => command.name()).filter((name) => name !== "serve");
  const names = await Promise.all(
    groups.map(async (group) => {
      const { commands, registeredArguments } = (await buildProgram([group])).commands.find((command) => command.name() === group)!;
      const own = commands.length === 0 || registeredArguments.length > 0 ? [group] : [];
      return [...own, ...commands.map((command) => `${group} ${command.name()}`)];
    }),
  );
  return names.flat();
}
