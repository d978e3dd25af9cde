import { readFileSync } from "node:fs";
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

  beforeAll(async () => {
    berth = await startBerth({ BERTH_TEST_SECRET: "environment-of-the-server" });
    session = await berth.api.create({ externalUserId: "mallory", envVars: { MINE: "for-the-session" } });
  });
  afterAll(() => berth?.[Symbol.asyncDispose]());

  async function exec(command: string): Promise<string> {
    const headers = { authorization: `Bearer ${berth.key}`, "content-type": "application/json" };
    const answer = await fetch(`${session.sandboxUrl}/exec?format=text`, { method: "POST", headers, body: JSON.stringify({ command }) });
    return await answer.text();
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

  test("the data folder cannot be read", async () => {
    const { dataDir } = berth;
    const command = `ls ${dataDir} /proc/1/root${dataDir} 2>/dev/null; cat ${join(dataDir, "demo-api-key")} 2>/dev/null; echo nothing`;
    expect(await exec(command)).toBe("nothing\n");
  });
});
