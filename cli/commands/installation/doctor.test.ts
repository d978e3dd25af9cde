import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createInstallation } from "../../testing/installation.ts";

describe("doctor and templates", () => {
  test("doctor finds no fault on a fresh machine, changes nothing, and notes a template whose agent is not installed", async () => {
    const { json, berth, dataDir } = createInstallation({ BERTH_DRIVER: "process", BERTH_TEMPLATES: "templates.yaml" });
    writeFileSync(join(dataDir, "templates.yaml"), "lost:\n  agent: [no-agent, no-other]\nfound:\n  agent: [no-agent, sh]\n");
    const findings = (await json("doctor")) as { topic: string; state: string; text: string }[];
    expect(findings.filter((finding) => finding.state === "bad")).toEqual([]);
    expect(new Set(findings.map((finding) => finding.topic))).toEqual(
      new Set(["version", "setting", "names", "data folder", "templates", "driver", "agent", "model", "sandbox", "store"]),
    );
    expect(findings.find((finding) => finding.topic === "model")).toMatchObject({
      state: "note",
      cure: expect.stringContaining("Set BERTH_MODEL_PROVIDER, BERTH_MODEL_API_KEY and BERTH_MODEL_NAME"),
    });
    expect(findings.filter((finding) => finding.topic === "agent")).toEqual([
      expect.objectContaining({ text: expect.stringMatching(/^goose: /) }),
      expect.objectContaining({ text: expect.stringMatching(/^opencode: /) }),
      {
        topic: "agent",
        state: "note",
        text: "the template lost has no agent on this machine; not installed: no-agent, no-other",
        cure: "Install one of these programs, or name another agent in the template.",
      },
    ]);
    expect(readdirSync(dataDir)).toEqual(["templates.yaml"]);

    expect(await json("template", "list")).toMatchObject([
      { name: "default" },
      { name: "lost", agentHere: { state: "missing", names: ["no-agent", "no-other"] } },
      { name: "found", agentHere: { state: "installed", name: "sh" } },
    ]);
    expect((await berth("template", "list")).stdout).toMatch(/^lost .* no-agent, no-other: not installed here$/m);
  });

  test("doctor reports a fault and fails", async () => {
    const { berth, dataDir } = createInstallation({ BERTH_DRIVER: "process" });
    writeFileSync(join(dataDir, "berth.db"), "this is no database, but it is long enough to be looked at as one".repeat(20));
    const { code, stdout } = await berth("doctor");
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ store .*The database does not answer: file is not a database/);
  });

  test("templates are listed, and an error in the file is reported with its line", async () => {
    const { json, berth, dataDir } = createInstallation({ BERTH_TEMPLATES: "templates.yaml" });
    writeFileSync(join(dataDir, "templates.yaml"), "small:\n  memoryMb: 256\n");
    expect((await json("template", "list")) as object[]).toMatchObject([{ name: "default" }, { name: "small", memoryMb: 256 }]);
    writeFileSync(join(dataDir, "templates.yaml"), "small:\n  memoryMb: lots\n");
    const { code, stderr } = await berth("template", "list");
    expect(code).toBe(1);
    expect(stderr).toMatch(/templates\.yaml, line 2: .*memoryMb/);
  });
});
