import { createHash } from "node:crypto";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { newId, type SandboxId, type Template } from "@berth/contract";
import type { ExecEvent } from "@berth/contract/daemon.ts";
import { readConfig } from "../../server/config/config.ts";
import type { Driver, SandboxSpec } from "../../server/drivers/driver.ts";
import { createOciDriver } from "../../server/drivers/oci/oci.ts";
import { probeOci } from "../../server/drivers/oci/probe.ts";
import type { Egress } from "../../server/egress/egress.ts";
import { createLocalEgress } from "../../server/egress/local-egress.ts";
import { createDaemonLinks, type DaemonLinks } from "../../server/daemon-link/daemon-links.ts";
import { silentLog } from "../../server/log.ts";
import { DEFAULT_TEMPLATE } from "../../server/templates.ts";
import type { Missing } from "../support/machine.ts";
import { missingUserDriver, openUserDriver, USER, type UserForm } from "../support/user-driver/user-driver.ts";
import { daemonRuntime } from "../support/runtime.ts";

const probe = await probeOci(readConfig(process.env).config.ociRuntime);

// Runs all tests of this folder on sandboxes of an ordinary user. Absent: on those of root.
const FORMS: readonly (string | undefined)[] = ["sub-ids", "one-id"] satisfies UserForm[];
const wanted = process.env["BERTH_TEST_WITHOUT_ROOT"];
export const userForm = FORMS.includes(wanted) ? (wanted as UserForm) : undefined;

// Runs all tests of this folder on sandboxes with a writable root over this folder, which needs Python. Absent: with the host's programs.
const writableRoot = process.env["BERTH_TEST_WRITABLE_ROOT"];
const ROOT_FIELDS = writableRoot === undefined ? {} : { root: writableRoot, writableRoot: true };

// For tests of restrictions that a writable root lifts.
export const readOnlyRoot: Missing = writableRoot === undefined ? undefined : "the sandboxes have a writable root of their own";

// For tests of what only root can give to a sandbox.
export const needsRoot: Missing = userForm === undefined ? undefined : "the server does not run as root";

// For tests of the two users that a sandbox has otherwise.
export const oneUser: Missing =
  userForm === "one-id" ? "all sandboxes have the server's user, who has the number 0 inside and owns /dev" : undefined;

export const runtimeName = probe.usable ? basename(probe.runtime) : undefined;

// The attackers are written in Python, which can make any system call.
export const missing: Missing[] = [
  probe.usable ? undefined : probe.reason,
  userForm && missingUserDriver(userForm),
  existsSync("/usr/bin/python3") ? undefined : "needs python3 in /usr (apt-get install python3)",
];

// Real sandboxes with egress and daemon links, without the server.
export interface Sandboxes extends AsyncDisposable {
  driver: Driver;
  links: DaemonLinks;
  egress: Egress;
  dataDir: string;
  // The process whose mounts sandboxes see.
  pid: number;
  create(template?: Partial<Template>): Promise<Sandbox>;
}

export interface Sandbox {
  id: SandboxId;
  spec: SandboxSpec;
  // Runs a shell command in the sandbox. Returns its output and exit code.
  sh(command: string, options?: { timeoutMs?: number }): Promise<Outcome>;
  // The same for a Python program.
  python(program: string, options?: { timeoutMs?: number }): Promise<Outcome>;
}

export interface Outcome {
  output: string;
  code: number | null;
}

// The process id of a sandbox's first process, on the host.
export const initOf = ({ dataDir }: Pick<Sandboxes, "dataDir">, { id }: Pick<Sandbox, "id">): number =>
  Number(readFileSync(join(dataDir, "sandboxes", id, "init.pid"), "utf8"));

type Parts = Pick<Sandboxes, "driver" | "egress" | "pid"> & AsyncDisposable;

async function openParts(dataDir: string, allow: string[]): Promise<Parts> {
  if (!probe.usable) throw new Error(probe.reason);
  const runtimeDir = await daemonRuntime();
  const { runtime, boundDisks } = probe;
  const driver = createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime, boundDisks, diskWriteLimitMib: 100 });
  const egress = createLocalEgress({ dataDir, log: silentLog, allow, dialTimeoutMs: 5_000 });
  return {
    driver,
    egress,
    pid: process.pid,
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]();
      await driver[Symbol.asyncDispose]();
    },
  };
}

export interface SandboxesOptions {
  allow?: string[];
  form?: UserForm | undefined;
}

export async function openSandboxes({ allow = [], form = userForm }: SandboxesOptions = {}): Promise<Sandboxes> {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-isolation-"));
  if (form) chownSync(dataDir, USER, USER);
  const parts = await (form ? openUserDriver({ form, dataDir, runtimeDir: await daemonRuntime(), allow }) : openParts(dataDir, allow));
  const { driver, egress, pid } = parts;
  const tokenOf = (id: SandboxId) => `token of ${id}`;
  const links = createDaemonLinks({ driver, tokenOf, log: silentLog });
  const made = new Set<SandboxId>();

  async function exec(id: SandboxId, command: string | string[], stdin: string, timeoutMs: number): Promise<Outcome> {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ command, stdin, timeoutMs });
    const response = await links.request(id, { method: "POST", path: "/exec", headers, body, bodyTimeoutMs: timeoutMs + 5_000 });
    const lines = (await text(response.body)).trim().split("\n");
    const events = lines.map((line) => JSON.parse(line) as ExecEvent);
    const output = events.map((event) => (event.type === "stdout" || event.type === "stderr" ? event.data : "")).join("");
    const last = events.at(-1);
    return { output, code: last?.type === "exit" ? last.code : null };
  }

  return {
    driver,
    links,
    egress,
    dataDir,
    pid,
    async create(changes = {}) {
      const id = newId("sbx", Date.now());
      const template = { ...DEFAULT_TEMPLATE, diskMb: 256, ...ROOT_FIELDS, ...changes };
      const spec = { id, template, tokenHash: createHash("sha256").update(tokenOf(id)).digest("hex") };
      made.add(id);
      await egress.open(id, template);
      await driver.create(spec, AbortSignal.timeout(60_000));
      return {
        id,
        spec,
        sh: (command, { timeoutMs = 50_000 } = {}) => exec(id, command, "", timeoutMs),
        python: (program, { timeoutMs = 50_000 } = {}) => exec(id, ["python3", "-"], program, timeoutMs),
      };
    },
    async [Symbol.asyncDispose]() {
      await links[Symbol.asyncDispose]();
      for (const id of made) {
        await driver.destroy(id, AbortSignal.timeout(60_000));
        await egress.close(id);
      }
      await parts[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
