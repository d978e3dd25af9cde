import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

// Journeys of programs with E2B's SDK, written only with its public interface. Each journey runs with every version in the matrix.

// The SDK has types of its own in every version, so that journeys are checked when they run.
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type Sdk = any;
export type Sandbox = Sdk;

export interface Journey {
  feature: string;
  run(sdk: Sdk, box: Sandbox): Promise<void>;
}

// The options of the sandbox that the journeys share.
const METADATA = { journey: "one & all" };
export const SHARED_SANDBOX = { metadata: METADATA, envs: { FRUIT: "fig" }, timeoutMs: 600_000 };

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

export const JOURNEYS: Journey[] = [
  {
    feature: "run a command",
    async run(_sdk, box) {
      const { stdout, stderr, exitCode } = await box.commands.run("echo out; echo err >&2; pwd");
      assert.deepEqual({ stdout, stderr, exitCode }, { stdout: "out\n/home/user\n", stderr: "err\n", exitCode: 0 });
      await assert.rejects(box.commands.run("exit 3"), { name: "CommandExitError", exitCode: 3 });
      await assert.rejects(box.commands.run("sleep 30", { timeoutMs: 500 }), { name: "TimeoutError" });
    },
  },
  {
    feature: "environment and folder of a command",
    async run(_sdk, box) {
      await box.files.makeDir("inner");
      const { stdout } = await box.commands.run("echo $FRUIT $OWN; pwd", { envs: { OWN: "plum" }, cwd: "/home/user/inner" });
      assert.equal(stdout, "fig plum\n/home/user/inner\n");
    },
  },
  {
    feature: "background commands, input, list, connect, kill",
    async run(_sdk, box) {
      const cat = await box.commands.run("cat", { background: true, stdin: true });
      await box.commands.sendStdin(cat.pid, "hello");
      await until(() => cat.stdout === "hello");
      assert.ok((await box.commands.list()).some(({ pid }: { pid: number }) => pid === cat.pid));
      const other = await box.commands.connect(cat.pid);
      await box.commands.sendStdin(cat.pid, " again");
      await until(() => other.stdout === " again");
      assert.equal(await box.commands.kill(cat.pid), true);
      await assert.rejects(cat.wait());
      assert.equal(await box.commands.kill(999_999), false);
    },
  },
  {
    feature: "pseudo-terminal",
    async run(_sdk, box) {
      let seen = "";
      const pty = await box.pty.create({ cols: 80, rows: 24, onData: (data: Uint8Array) => void (seen += text(data)) });
      await box.pty.resize(pty.pid, { cols: 100, rows: 30 });
      await box.pty.sendInput(pty.pid, new TextEncoder().encode("stty size; exit\n"));
      await pty.wait();
      assert.match(seen, /30 100/);
    },
  },
  {
    feature: "files: write, read, list, info, rename, remove",
    async run(_sdk, box) {
      const written = await box.files.write("notes/a.txt", "one");
      assert.equal(written.path, "/home/user/notes/a.txt");
      assert.equal(await box.files.read("notes/a.txt"), "one");
      assert.equal(text(await box.files.read("notes/a.txt", { format: "bytes" })), "one");
      await box.files.write([
        { path: "notes/b.txt", data: "two" },
        { path: "/home/user/notes/c.txt", data: new Blob(["three"]) },
      ]);
      const names = (await box.files.list("notes")).map(({ name }: { name: string }) => name);
      assert.deepEqual(names, ["a.txt", "b.txt", "c.txt"]);
      const { size, owner, permissions } = await box.files.getInfo("notes/c.txt");
      assert.deepEqual({ size, owner, permissions }, { size: 5, owner: "user", permissions: "-rw-r--r--" });
      assert.equal((await box.files.rename("notes/a.txt", "notes/d.txt")).path, "/home/user/notes/d.txt");
      await box.files.remove("notes");
      assert.equal(await box.files.exists("notes"), false);
      await assert.rejects(box.files.read("notes/a.txt"), /no such file/i);
      assert.equal(await box.files.makeDir("folder"), true);
      assert.equal(await box.files.makeDir("folder"), false);
    },
  },
  {
    feature: "files: streams, gzip, metadata",
    async run(_sdk, box) {
      const content = "some text ".repeat(10_000);
      await box.files.write("stream.txt", new Blob([content]).stream(), { useOctetStream: true, gzip: true });
      assert.equal(await box.files.read("stream.txt", { gzip: true }), content);
      await box.files.write("tagged.txt", "x", { metadata: { author: "me" } });
      assert.deepEqual((await box.files.getInfo("tagged.txt")).metadata, { author: "me" });
    },
  },
  {
    feature: "files: watch",
    async run(_sdk, box) {
      await box.files.makeDir("watched");
      const seen: string[] = [];
      const on = ({ type, name }: { type: string; name: string }) => void seen.push(`${type} ${name}`);
      const watch = await box.files.watchDir("watched", on, { recursive: true });
      await box.files.write("watched/inner/a.txt", "x");
      await until(() => seen.includes("write inner/a.txt"));
      await watch.stop();
    },
  },
  {
    feature: "signed URLs",
    async run(_sdk, box) {
      await box.files.write("signed.txt", "signed");
      const get = async (options: object) => fetch(await box.downloadUrl("signed.txt", options));
      assert.equal(await (await get({ useSignatureExpiration: 60 })).text(), "signed");
      assert.equal((await get({ useSignatureExpiration: -60 })).status, 401);
    },
  },
  {
    feature: "git",
    async run(_sdk, box) {
      await box.git.init("/home/user/repo", { initialBranch: "main" });
      await box.files.write("repo/a.txt", "x");
      await box.git.add("/home/user/repo");
      await box.git.commit("/home/user/repo", "first", { authorName: "Me", authorEmail: "me@example.com" });
      assert.equal((await box.git.status("/home/user/repo")).isClean, true);
    },
  },
  {
    feature: "info, list, timeout, metrics",
    async run({ Sandbox: Class }, box) {
      const before = await box.getInfo();
      assert.equal(before.state, "running");
      assert.deepEqual(before.metadata, METADATA);
      await box.setTimeout(900_000);
      assert.ok((await box.getInfo()).endAt > before.endAt);
      const list = (query: object) => Class.list({ query, limit: 1 });
      const pages = list({ metadata: METADATA, state: ["running"] });
      assert.equal((await pages.nextItems())[0].sandboxId, box.sandboxId);
      assert.equal(pages.hasNext, false);
      assert.deepEqual(await list({ metadata: METADATA, state: ["paused"] }).nextItems(), []);
      assert.equal(typeof (await box.getMetrics())[0].memUsed, "number");
    },
  },
  {
    feature: "pause, connect",
    async run({ Sandbox: Class }, box) {
      const sleeper = await box.commands.run("sleep 600", { background: true, timeoutMs: 0 });
      assert.notEqual(await box.pause(), false);
      assert.equal(await box.pause(), false);
      assert.equal(await box.isRunning(), false);
      const again = await Class.connect(box.sandboxId);
      assert.equal(await again.isRunning(), true);
      assert.equal(await again.commands.kill(sleeper.pid), true);
    },
  },
  {
    feature: "snapshots",
    async run({ Sandbox: Class }, box) {
      await box.files.write("kept.txt", "kept");
      const { snapshotId } = await box.createSnapshot();
      const listed = await box.listSnapshots().nextItems();
      assert.deepEqual(
        listed.map((one: { snapshotId: string }) => one.snapshotId),
        [snapshotId],
      );
      const copy = await Class.create(snapshotId, { timeoutMs: 60_000 });
      try {
        assert.equal(await copy.files.read("kept.txt"), "kept");
      } finally {
        await copy.kill();
      }
      assert.equal(await Class.deleteSnapshot(snapshotId), true);
      assert.equal(await Class.deleteSnapshot(snapshotId), false);
    },
  },
  {
    feature: "fork",
    async run(_sdk, box) {
      await box.files.write("forked.txt", "forked");
      const [fork] = await box.fork({ count: 1 });
      try {
        assert.equal(await fork.files.read("forked.txt"), "forked");
      } finally {
        await fork.kill();
      }
    },
  },
  {
    feature: "getHost",
    async run({ Sandbox: Class }, box) {
      const closed = await Class.create({ timeoutMs: 60_000, network: { allowPublicTraffic: false } });
      try {
        await Promise.all([box, closed].map(serve));
        assert.equal(await visit(box), 200);
        assert.equal(await visit(closed), 403);
        assert.equal(await visit(closed, "forged"), 403);
        assert.equal(await visit(closed, closed.trafficAccessToken), 200);
      } finally {
        await closed.kill();
      }
      assert.equal(await visit(closed, closed.trafficAccessToken), 502);
    },
  },
  {
    feature: "network",
    async run(_sdk, box) {
      const ask = async () => (await box.commands.run("curl -s --max-time 5 http://nowhere.invalid/; true")).stdout;
      await box.updateNetwork({ allowInternetAccess: false });
      assert.match(await ask(), /no network access/);
      assert.equal((await box.getInfo()).allowInternetAccess, false);
      await box.updateNetwork({ denyOut: ["0.0.0.0/0"], allowOut: ["else.where"] });
      assert.match(await ask(), /not an allowed host/);
      await box.updateNetwork({ denyOut: ["nowhere.invalid"] });
      assert.match(await ask(), /may not reach/);
      await box.updateNetwork({});
      assert.doesNotMatch(await ask(), /no network access|not an allowed host/);
    },
  },
  {
    feature: "volumes",
    async run({ Sandbox: Class, Volume }) {
      const volume = await Volume.create(`matrix-${Date.now()}`);
      const write = await Class.create({ timeoutMs: 60_000, volumeMounts: { "/mnt/data": volume } });
      try {
        await write.files.write("/mnt/data/kept.txt", "kept");
        assert.equal((await write.commands.run("cat /mnt/data/kept.txt")).stdout, "kept");
      } finally {
        await write.kill();
      }
      assert.equal(await Volume.destroy(volume.volumeId), true);
    },
  },
  {
    feature: "errors",
    async run({ Sandbox: Class }, box) {
      await assert.rejects(Class.create("absent"), /absent/);
      await assert.rejects(Class.connect("sbx_absent"), { name: "SandboxNotFoundError" });
      assert.equal(await Class.kill("sbx_absent"), false);
      await assert.rejects(box.commands.run("id", { user: "root" }), /not supported by Berth/);
      await assert.rejects(box.files.read("x", { user: "root" }), /not supported by Berth/);
      await assert.rejects(Class.create({ network: { denyOut: ["8.8.8.8"], allowOut: ["8.8.4.4"] } }), /not supported by Berth/);
    },
  },
];

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 15_000; !(await isTrue()); await delay(50)) if (Date.now() > endMs) throw new Error("it did not happen");
}

const PORT = 8123;

async function serve(box: Sandbox): Promise<void> {
  await box.commands.run(`python3 -m http.server ${PORT}`, { background: true, timeoutMs: 0 });
  await box.commands.run(`until echo > /dev/tcp/127.0.0.1/${PORT}; do sleep 0.05; done 2> /dev/null`);
}

async function visit(box: Sandbox, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { "e2b-traffic-access-token": token };
  return (await fetch(`http://${box.getHost(PORT)}/`, { headers })).status;
}
