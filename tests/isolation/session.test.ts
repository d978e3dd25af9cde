import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Session } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { missing } from "./sandboxes.ts";

// Isolation through the API: a real server, a partner's session, and commands through sandboxUrl.
describeWith(missing, "a session of the real server", () => {
  let berth: Berth;
  let session: Session;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-templates-"));
    const templates = join(folder, "templates.yaml");
    writeFileSync(templates, "default: { maxResources: { cpus: 2, memoryMb: 4096, diskMb: 20480 } }\n");
    berth = await startBerth({ BERTH_TEST_SECRET: "environment-of-the-server", BERTH_TEMPLATES: templates });
    session = await berth.api.create({ externalUserId: "mallory", envVars: { MINE: "for-the-session" } });
  });
  afterAll(async () => {
    await berth?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  async function exec(command: string, { sandboxUrl }: Session = session): Promise<string> {
    const headers = { authorization: `Bearer ${berth.key}`, "content-type": "application/json" };
    const response = await fetch(`${sandboxUrl}/exec?format=text`, { method: "POST", headers, body: JSON.stringify({ command }) });
    return await response.text();
  }

  test("the server chooses the oci driver and logs the reason", () => {
    expect(berth.output()).toMatch(/"driver":"oci".*runs containers here/);
  });

  test("a command runs as an unprivileged user in its own namespaces", async () => {
    const output = await exec("id -u; ls /; hostname; ps -e -o comm= | sort -u; echo $MINE");
    for (const line of ["1000", "workspace", "sandbox", "for-the-session"]) expect(output.split("\n")).toContain(line);
    expect(output).not.toContain("runc");
  });

  test("the sandbox has no keys and nothing of the server's environment", async () => {
    const output = await exec("cat /proc/1/environ /proc/*/environ | tr '\\0' '\\n'; env");
    const masterKey = readFileSync(join(berth.dataDir, "master-key"), "utf8").trim();
    expect(output).toContain("BERTH_TOKEN_HASH=");
    for (const secret of ["environment-of-the-server", berth.key, berth.dataDir, masterKey]) expect(output).not.toContain(secret);
  });

  test("the server's port cannot be reached, directly or through egress", async () => {
    const { port } = new URL(berth.url);
    const ways = ["--noproxy '*'", "--noproxy ''", "--noproxy '' -p"];
    const tries = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"].flatMap((host) =>
      ways.map((way) => `${way} http://${host}:${port}/healthz`),
    );
    const output = await exec(tries.map((args) => `curl -s -m 3 -o /dev/null -w '%{http_code}\\n' ${args}`).join("; "));
    const statuses = output.trim().split("\n");
    expect(statuses).toHaveLength(tries.length);
    expect(statuses.filter((status) => status !== "000" && status !== "403")).toEqual([]);
  });

  test("resources and egress of a session apply in its sandbox", async () => {
    const resources = { cpus: 0.5, memoryMb: 128, diskMb: 64 };
    const limited = await berth.api.create({ resources, egress: { policy: "none" }, autoStartAgent: false });
    const { body } = await berth.api.call("GET", `/api/b2b/sessions/${limited.sessionId}?expand=details`);
    expect(body).toMatchObject({ resources, egress: { policy: "none" } });
    const hold = "dd if=/dev/zero of=/dev/null bs=200M count=1 2> /dev/null && echo held";
    expect([await exec(hold, limited), await exec(hold)]).toEqual([expect.not.stringContaining("held"), "held\n"]);
    expect(Number(await exec("df -m --output=size /workspace | tail -1", limited))).toBeLessThanOrEqual(64);
    expect(await exec("curl -s -m 5 http://example.com/", limited)).toContain("no network access");
    const busy = `bash -c 'TIMEFORMAT=%U; time timeout 1 sh -c "while :; do :; done"' 2>&1 | tail -1`;
    expect(Number(await exec(busy, limited))).toBeLessThan(0.9);
    const tooMuch = await berth.api.call("POST", "/api/b2b/sessions", { externalUserId: "mallory", resources: { memoryMb: 4097 } });
    expect([tooMuch.status, tooMuch.body]).toEqual([
      400,
      { error: "Validation failed", details: [{ field: "resources.memoryMb", message: "Must be at most 4096" }] },
    ]);
  });

  test("the data folder cannot be read", async () => {
    const { dataDir } = berth;
    const command = `ls ${dataDir} /proc/1/root${dataDir} 2>/dev/null; cat ${join(dataDir, "demo-api-key")} 2>/dev/null; echo nothing`;
    expect(await exec(command)).toBe("nothing\n");
  });
});
