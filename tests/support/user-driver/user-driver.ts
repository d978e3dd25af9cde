import { spawn, spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { AppError, type ErrorCode } from "@berth/contract";
import type { Driver, DriverTraits } from "../../../server/drivers/driver.ts";
import type { Egress } from "../../../server/egress/egress.ts";
import { machine, type Missing } from "../machine.ts";
import { readLine } from "./read-line.ts";

// The oci driver of an ordinary user, for tests that run as root.
export interface UserDriver extends AsyncDisposable {
  driver: Driver;
  egress: Egress;
  // The process of the driver. It has mounts of its own with sub-ids.
  pid: number;
  // Opens another one over the same data folder.
  reopen(): Promise<UserDriver>;
}

// `sub-ids`: the user has ids in /etc/subuid. `one-id`: it has none, as on every machine.
export type UserForm = "sub-ids" | "one-id";

export const USER = 65_534;
const FIRST_SUB_ID = 1_900_000_000;
const SCRIPT = fileURLToPath(new URL("./user-driver-process.ts", import.meta.url));
const AS_USER = ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"];
// The file is replaced for this user's processes only, in a mount namespace of theirs.
const WITH_SUB_IDS = `mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"`;

// Why tests cannot run sandboxes as an ordinary user here.
export function missingUserDriver(form: UserForm): Missing {
  if (machine.root !== undefined) return machine.root;
  const [setpriv = "", ...args] = AS_USER;
  if (spawnSync(setpriv, [...args, "test", "-r", SCRIPT]).status !== 0) return "needs a clone that other users can read";
  return machine.command("runc") ?? (form === "sub-ids" ? machine.command("newuidmap", "uidmap") : undefined);
}

export interface UserDriverOptions {
  form: UserForm;
  // A folder of the user.
  dataDir: string;
  runtimeDir: string;
  allow?: readonly string[];
}

export async function openUserDriver(options: UserDriverOptions): Promise<UserDriver> {
  const { form, dataDir, runtimeDir, allow = [] } = options;
  const folder = mkdtempSync(join(tmpdir(), "berth-user-"));
  chownSync(folder, USER, USER);
  const subIds = join(folder, "sub-ids");
  writeFileSync(subIds, `nobody:${FIRST_SUB_ID}:65536\n`);
  const socketPath = join(folder, "calls.sock");
  const command = [...AS_USER, process.execPath, SCRIPT, dataDir, runtimeDir, socketPath, allow.join(",")];
  const [program = "", ...args] =
    form === "sub-ids" ? ["unshare", "--mount", "--propagation", "slave", "sh", "-c", WITH_SUB_IDS, "sh", subIds, ...command] : command;
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, HOME: folder },
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const [line] = (await Promise.race([
    createInterface(child.stdout)
      [Symbol.asyncIterator]()
      .next()
      .then(({ value }) => [value as string]),
    exited.then(() => [undefined]),
  ])) as [string | undefined];
  const ready = JSON.parse(line ?? "{}") as { missing?: string; traits?: DriverTraits };
  if (!ready.traits) throw new Error(`an ordinary user cannot run sandboxes here: ${ready.missing ?? "the process has ended"}`);

  const call = async (part: string, method: string, args: readonly unknown[]) => {
    const socket = await connect(socketPath);
    const signal = args.find((arg) => arg instanceof AbortSignal);
    // Ends only this side, and waits for the answer: the driver has to undo what it has begun.
    const abort = () => void socket.end();
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) throw (socket.destroy(), signal.reason);
    try {
      socket.write(`${JSON.stringify([part, method, ...args.filter((arg) => arg !== signal)])}\n`);
      const { value, error } = JSON.parse(await readLine(socket)) as Answer;
      if (error && signal?.aborted && error.code === undefined) throw signal.reason;
      if (error?.code) throw new AppError(error.code, { message: error.message, cause: new Error(error.cause) });
      if (error) throw new Error(error.message);
      if (method === "dial") return socket;
      socket.destroy();
      return value;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  };
  const remote = <Part extends object>(part: string, own: object) =>
    new Proxy(own, {
      get: (target, name) =>
        name in target
          ? Reflect.get(target, name)
          : typeof name === "symbol" || ABSENT.has(name)
            ? undefined
            : (...args: unknown[]) => call(part, name, args),
    }) as Part;
  const nothing = { async [Symbol.asyncDispose]() {} };
  const liveLimits = remote<NonNullable<Driver["liveLimits"]>>("liveLimits", {});
  const images = remote<NonNullable<Driver["images"]>>("images", {});
  const volumes = remote<NonNullable<Driver["volumes"]>>("volumes", { paths: "all" });

  return {
    driver: remote<Driver>("driver", { name: "oci", traits: ready.traits, volumes, liveLimits, images, ...nothing }),
    egress: remote<Egress>("egress", nothing),
    pid: child.pid!,
    reopen: () => openUserDriver(options),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// Optional methods that the driver of an ordinary user does not have.
const ABSENT = new Set(["then", "unwrittenBytes", "flush", "roomOf", "isFull", "addressOwner"]);

interface Answer {
  value?: unknown;
  error?: { code?: ErrorCode; name: string; message: string; cause: string };
}

function connect(path: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = createConnection({ path, allowHalfOpen: true }, () => resolve(socket));
  socket.once("error", reject);
  return promise;
}
