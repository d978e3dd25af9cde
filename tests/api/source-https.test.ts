import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { createBerth } from "../../client/index.ts";
import { startGitServer } from "../support/git/git-server.ts";
import { machine, testWith } from "../support/machine.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { startBerth } from "../support/servers/berth.ts";
import { openTlsFront } from "../support/servers/tls.ts";

const TOKEN = "the-token-that-never-enters-a-sandbox";

testWith(
  [machine.command("git"), machine.command("openssl")],
  "a repository with submodules on a git server whose certificate the operator trusts is fetched again on request, and pushed to",
  async () => {
    await daemonRuntime();
    await using git = await startGitServer("another-password");
    await using open = await startGitServer(null);
    open.addRepository("lib", { "lib.txt": "a library\n" });
    git.addRepository("shop", { "README.md": "a shop\n" });
    git.addSubmodule("shop", "vendor/lib", { server: open, repository: "lib" });
    await using tls = await openTlsFront(() => Number(git.address.split(":")[1]));
    const folder = mkdtempSync(join(tmpdir(), "berth-https-"));
    writeFileSync(join(folder, "ca.pem"), tls.certificate);
    const address = `127.0.0.1:${tls.port}`;
    await using server = await startBerth({
      BERTH_DRIVER: "process",
      BERTH_EGRESS_ALLOW: `${address},${open.address}`,
      NODE_EXTRA_CA_CERTS: join(folder, "ca.pem"),
    });
    const berth = createBerth({ baseUrl: server.url, apiKey: server.key });

    const source = { git: { url: `https://${address}/shop.git`, token: TOKEN, submodules: true } };
    const session = await berth.sessions.create({ externalUserId: "ada", autoStartAgent: false, source }, { wait: "source" });
    expect((await session.refresh()).source).toMatchObject({ status: "failed", reason: "The git server did not accept the token." });
    git.password = TOKEN;
    expect((await session.retrySource()).source).toMatchObject({ status: "pending" });
    await expect(session.retrySource()).rejects.toMatchObject({ status: 409 });
    await expect.poll(async () => (await session.refresh()).source?.status, { timeout: 60_000 }).not.toBe("pending");
    expect(session.source).toMatchObject({ status: "ready", reason: null });

    expect((await session.exec("cat README.md vendor/lib/lib.txt")).stdout).toBe("a shop\na library\n");
    const commit = "git config user.name Ada && git config user.email ada@example.com && echo more >> README.md && git commit -qam second";
    expect(await session.exec(`${commit} && git push -q origin main`)).toMatchObject({ exitCode: 0 });
    expect(git.git("shop", "log", "--format=%s", "main")).toBe("second\nsubmodule\nfirst\n");

    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/berth_relay_requests_total\{relay="git",partner="\w+",outcome="passed_on"\} [1-9]/);
    await session.destroy();
    rmSync(folder, { recursive: true });
  },
);
