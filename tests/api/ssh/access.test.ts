import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Session } from "@berth/contract";
import { createBerth } from "../../../client/index.ts";
import { describeWith } from "../../support/machine.ts";
import { shareBerth } from "../../support/servers/shared-berth.ts";
import { openSshClient } from "../../support/servers/ssh-client.ts";
import { openSshSession, sshMissing, type SshSession } from "./ssh-session.ts";

describeWith(sshMissing, "access over SSH", () => {
  let suite: SshSession;
  beforeAll(async () => void (suite = await openSshSession()));
  afterAll(() => suite?.[Symbol.asyncDispose]());

  // Connects with a token and without the API key.
  const sshWithToken = (token: string, ...args: string[]) => {
    const { client, path } = suite;
    const config = path("without-key");
    writeFileSync(config, readFileSync(path(".ssh/berth/config"), "utf8").replace(/ --key-file \S+/, ""));
    return client.run("ssh", ["-F", config, ...args], { env: { BERTH_SESSION_TOKEN: token } });
  };

  test("a token of the scope `ssh` opens its session and no other, names the host key, and is cut when it is revoked", async () => {
    const { berth, session, host, path, inSandbox, createToken } = suite;
    const { token, tokenId, ssh } = await createToken({});
    expect(ssh?.hostKey).toMatch(/^ssh-ed25519 [A-Za-z0-9+/]{68}$/);
    expect(readFileSync(path(`.ssh/berth/known_hosts/${host}`), "utf8")).toBe(`${host} ${ssh?.hostKey}\n`);
    expect(await sshWithToken(token, host, "echo in")).toMatchObject({ code: 0, stdout: "in\n" });
    const { token: other, ssh: none } = await createToken({ scopes: ["exec"] });
    expect(none).toBeNull();
    expect((await sshWithToken(other, host, "true")).stderr).toContain("needs the scope ssh");
    expect((await sshWithToken(`${token}x`, host, "true")).stderr).toMatch(/401/);
    expect((await sshWithToken(token, "ses_01kan2v8r08v0x4z6b9dbfdjmp.berth", "true")).stderr).toMatch(/404/);

    const open = sshWithToken(token, host, "echo begun; sleep 997");
    await expect.poll(async () => (await inSandbox("pgrep -f 'sleep 99[7]'")).code).toBe(0);
    await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}/tokens/${tokenId}`);
    expect(await open).toMatchObject({ code: 255, stderr: expect.stringContaining("expired or was revoked") });
    expect((await sshWithToken(token, host, "true")).stderr).toMatch(/401/);
    await inSandbox("pkill -f 'sleep 99[7]'");
  });

  test("another host key is refused without a question, and a fork has a key of its own", async () => {
    const { berth, session, client, host, path, createToken, destroy } = suite;
    const { ssh } = await createToken({});
    const [{ session: fork }] = (await createBerth({ apiKey: berth.key, baseUrl: berth.url }).sessions.fork(
      { sessionId: session.sessionId },
      { externalUserId: "user-1", count: 1 },
    )) as unknown as [{ session: Session }];
    const { ssh: ofFork } = await createToken({}, fork);
    expect(ofFork?.hostKey).toMatch(/^ssh-ed25519/);
    expect(ofFork?.hostKey).not.toBe(ssh?.hostKey);
    writeFileSync(path("known"), `${host} ${ofFork?.hostKey}\n`);
    const refused = await client.ssh("-S", "none", "-o", `UserKnownHostsFile=${path("known")}`, host, "true");
    expect(refused).toMatchObject({ code: 255, stderr: expect.stringContaining("Host key verification failed") });
    await destroy(fork);
  });

  test("a pause ends the connection with a sentence, and a new one wakes the session only if it may", async () => {
    const { berth, client, path, start, createToken, hostOf, destroy } = suite;
    const pause = ({ sessionId }: Session) => berth.api.call("POST", `/api/b2b/sessions/${sessionId}/pause`);
    const paused = await berth.api.create({ autoResume: true });
    const itsHost = hostOf(paused);
    const shell = start("-S", "none", itsHost, "echo begun; sleep 996; echo over > /workspace/over");
    await shell.says(/begun/);
    const known = readFileSync(path(`.ssh/berth/known_hosts/${itsHost}`), "utf8");
    expect((await pause(paused)).status).toBe(200);
    expect(await shell.code()).toBe(255);
    expect(shell.output()).toContain("The session was paused.");
    const { ssh } = await createToken({}, paused);
    expect(ssh).toMatchObject({ hostKey: null, url: expect.stringContaining("/ssh") });

    // The command goes on: a pause does not end programs.
    const woken = await client.ssh("-S", "none", itsHost, "pgrep -f 'sleep 99[6]' > /dev/null && echo goes on");
    expect(woken).toMatchObject({ code: 0, stdout: "goes on\n" });
    expect(readFileSync(path(`.ssh/berth/known_hosts/${itsHost}`), "utf8")).toBe(known);

    await berth.api.call("PATCH", `/api/b2b/sessions/${paused.sessionId}`, { autoResume: false });
    await pause(paused);
    const refused = await client.ssh("-S", "none", itsHost, "true");
    expect(refused).toMatchObject({ code: 255, stderr: expect.stringMatching(/paused.*[Rr]esume/) });
    await destroy(paused);
    expect((await client.ssh("-S", "none", itsHost, "true")).stderr).toMatch(/404|destroyed/);
  });
});

test("the settings of ssh are written once, and keep what is there", async () => {
  const berth = await shareBerth();
  await using client = await openSshClient(berth);
  const file = join(client.folder, ".ssh/config");
  expect(readFileSync(file, "utf8")).toBe("Include berth/config\n\n");
  writeFileSync(file, "Include berth/config\n\nHost other\n  User me\n");
  await using _again = await openSshClient(berth, client.folder);
  expect(readFileSync(file, "utf8")).toBe("Include berth/config\n\nHost other\n  User me\n");
});
