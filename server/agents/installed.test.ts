import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DEFAULT_TEMPLATE } from "../templates.ts";
import { completeAgent } from "./catalogue.ts";
import { findAgent, probeAgents } from "./installed.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "berth-agents-"))));
afterEach(() => rmSync(folder, { recursive: true }));

function program(path: string, text = "#!/bin/sh\necho ' 1.2.3'\n", mode = 0o755): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text, { mode });
}

describe("agents on this machine", () => {
  test("are usable if they are installed and run, and otherwise have a reason", async () => {
    program("host/goose");
    program("host/opencode", "#!/bin/sh\necho 'libstdc++.so.6: cannot open shared object file' >&2\nexit 127\n");
    expect(await probeAgents(folder)).toEqual([
      { agent: "goose", state: "usable", text: "version 1.2.3" },
      {
        agent: "opencode",
        state: "broken",
        text: "installed, but it does not run here (libstdc++.so.6: cannot open shared object file)",
      },
    ]);
    rmSync(join(folder, "host/goose"));
    const text = `not installed (for ${process.platform}-${process.arch})`;
    expect((await probeAgents(folder))[0]).toEqual({ agent: "goose", state: "missing", text });
  });

  test("are started again only when their program has changed", async () => {
    const log = join(folder, "starts");
    const textOf = async () => (await probeAgents(folder))[0]!.text;
    program("host/goose", `#!/bin/sh\necho start >> ${log}\necho 1.2.3\n`);
    expect([await textOf(), await textOf()]).toEqual(["version 1.2.3", "version 1.2.3"]);
    expect(readFileSync(log, "utf8")).toBe("start\n");
    program("host/goose", "#!/bin/sh\necho 1.2.10\n");
    expect(await textOf()).toBe("version 1.2.10");
  });

  test("a template uses its first agent that is installed in its root or in the runtime folder", () => {
    const template = { ...DEFAULT_TEMPLATE, root: folder };
    const sources = { driver: "oci", runtimeDir: join(folder, "runtime"), sandboxRuntime: "mount" as const };
    expect(findAgent(template, sources)).toEqual({ state: "missing", names: ["goose", "opencode"] });
    program("runtime/bin/opencode");
    expect(findAgent(template, sources)).toEqual({ state: "installed", name: "opencode" });
    program("usr/bin/goose", "not a program", 0o644);
    expect(findAgent(template, sources)).toEqual({ state: "installed", name: "opencode" });
    program("usr/local/bin/goose");
    expect(findAgent(template, sources)).toEqual({ state: "installed", name: "goose" });

    const own = (command: string) => ({ ...template, agent: completeAgent(command), fallbackAgents: [] });
    program("opt/own-agent");
    expect(findAgent(own("/opt/own-agent"), sources)).toEqual({ state: "installed", name: "own-agent" });
    expect(findAgent(own("/opt/nothing"), sources)).toEqual({ state: "missing", names: ["nothing"] });
    expect(findAgent({ ...template, agent: null }, sources)).toEqual({ state: "none" });
  });

  test("an agent may be in an image, which is not inspected", () => {
    const sources = { runtimeDir: join(folder, "runtime"), sandboxRuntime: "mount" as const };
    const template = { ...DEFAULT_TEMPLATE, root: folder };
    expect(findAgent(template, { ...sources, driver: "docker" })).toEqual({ state: "in image", name: "goose" });
    program("runtime/bin/opencode");
    expect(findAgent(template, { ...sources, driver: "docker" })).toEqual({ state: "installed", name: "opencode" });
    expect(findAgent(template, { ...sources, driver: "docker", sandboxRuntime: "image" })).toEqual({ state: "in image", name: "goose" });
    expect(findAgent(template, { ...sources, driver: "kubernetes" })).toEqual({ state: "in image", name: "goose" });
  });
});
