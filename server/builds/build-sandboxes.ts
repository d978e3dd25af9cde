import { createHash, randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { pipeline, Transform, type Readable } from "node:stream";
import { pipeline as pipe } from "node:stream/promises";
import { isAppError, newId, type SandboxId, type Template } from "@berth/contract";
import type { ExecEvent } from "@berth/contract/daemon.ts";
import { buildHash } from "./built-image.ts";
import { boundStream } from "../bounded-io/bound-stream.ts";
import { splitLines } from "../bounded-io/split-lines.ts";
import { MINUTE, SECOND } from "../clock.ts";
import { createDaemonLinks, type DaemonLinks } from "../daemon-link/daemon-links.ts";
import { readResponseText } from "../daemon-link/link-errors.ts";
import type { Driver } from "../drivers/driver.ts";
import { describeError } from "../faults/describe-error.ts";
import type { Log } from "../log.ts";

// Runs each build in its own sandbox, which has the rights that buildah needs and no secret of a session. These sandboxes have their own
// data folder, so that nothing takes them for a session's.
export interface BuildSandboxes extends AsyncDisposable {
  // Writes the image to the file `image`, as a docker-archive. Rejects with a BuildFailure if the build fails.
  run(build: SandboxBuild, options: { onOutput(text: string): void; signal: AbortSignal }): Promise<void>;
}

export interface SandboxBuild {
  template: Template;
  // Of the archive (`buildHash`).
  digest: string;
  open(signal: AbortSignal): Promise<Readable>;
  image: string;
}

// Its message is a sentence for people.
export class BuildFailure extends Error {}

// The files are in another session, which may have ended or been stopped.
export class ArchiveGone extends Error {}

export interface BuildSandboxesDeps {
  // The driver of such sandboxes.
  openDriver(): Promise<Driver>;
  // Whether an earlier server may have left sandboxes.
  hasLeft: boolean;
  egress: { open(id: SandboxId, template: Template): Promise<void>; close(id: SandboxId): Promise<void> } & AsyncDisposable;
  log: Log;
}

const START_MS = 1 * MINUTE;
const END_MS = 1 * MINUTE;
const SEND_MS = 5 * MINUTE;
const SILENT_MS = 60 * SECOND;
const MAX_LINE_CHARS = 1024 * 1024;
const [ARCHIVE, IMAGE] = ["build.tar", "image.tar"];
const COMMAND = ["/opt/berth/bin/node", "/opt/berth/build-image.cjs", `/workspace/${ARCHIVE}`, "/workspace/build", `/workspace/${IMAGE}`];

export function createBuildSandboxes({ openDriver, hasLeft, egress, log }: BuildSandboxesDeps): BuildSandboxes {
  const tokens = new Map<SandboxId, string>();
  let opening: Promise<{ driver: Driver; links: DaemonLinks }> | undefined;

  const open = () =>
    (opening ??= (async () => {
      const driver = await openDriver();
      await destroyAll(driver);
      return { driver, links: createDaemonLinks({ driver, tokenOf: (id) => tokens.get(id) ?? "", log }) };
    })().catch((error: unknown) => {
      opening = undefined;
      throw error;
    }));
  // Without this, they would run until the next build.
  if (hasLeft) open().catch((error: unknown) => log.error("builds.unusable", { error: describeError(error) }));

  async function run(
    { template: limits, digest, open: openArchive, image }: SandboxBuild,
    { onOutput, signal }: RunOptions,
  ): Promise<void> {
    const { driver, links } = await open();
    const id = newId("sbx", Date.now());
    const token = randomBytes(32).toString("hex");
    tokens.set(id, token);
    const template = templateOf(limits);
    try {
      await egress.open(id, template);
      const starting = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
      await driver.create({ id, template, tokenHash: createHash("sha256").update(token).digest("hex") }, starting);
      await sendArchive(links, id, { template: limits, digest, open: openArchive, signal });
      const code = await runProgram(links, id, { onOutput, signal });
      if (code !== 0) throw new BuildFailure("The image could not be built. The lines above say why.");
      await receiveImage(links, id, { image, maxBytes: template.diskMb * 2 ** 20, signal });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BuildFailure || error instanceof ArchiveGone) throw error;
      const reason = isAppError(error) ? error.message : "its sandbox has failed";
      throw new BuildFailure(`The image could not be built: ${reason}. The log of the server says more.`, { cause: error });
    } finally {
      links.forget(id);
      tokens.delete(id);
      await driver.destroy(id, AbortSignal.timeout(END_MS)).catch((error: unknown) => {
        log.error("builds.sandbox_left", { sandboxId: id, error: describeError(error) });
      });
      await egress.close(id);
    }
  }

  return {
    run,
    async [Symbol.asyncDispose]() {
      const found = await opening?.catch(() => undefined);
      await found?.links[Symbol.asyncDispose]();
      await found?.driver[Symbol.asyncDispose]();
      await egress[Symbol.asyncDispose]();
    },
  };
}

export async function destroyAll(driver: Driver): Promise<void> {
  for (const { id } of await driver.list(AbortSignal.timeout(END_MS))) await driver.destroy(id, AbortSignal.timeout(END_MS));
}

interface RunOptions {
  onOutput(text: string): void;
  signal: AbortSignal;
}

// The sandbox has the limits and the egress of the session's template, and the machine's programs.
function templateOf({ name, memoryMb, cpus, pids, tmpMb, diskMb, egress }: Template): Template {
  return { name, memoryMb, cpus, pids, tmpMb, diskMb, egress, env: {}, agent: null };
}

async function sendArchive(
  links: DaemonLinks,
  id: SandboxId,
  { template, digest, open, signal }: Pick<SandboxBuild, "template" | "digest" | "open"> & { signal: AbortSignal },
): Promise<void> {
  const hash = buildHash(template);
  const hashing = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const gone = (error: unknown) => new ArchiveGone("the files of the build can no longer be read", { cause: error });
  const archive = await open(signal).catch((error: unknown) => {
    throw gone(error);
  });
  const cut = Promise.withResolvers<never>();
  const body = pipeline(archive, hashing, (error) => error && cut.reject(gone(error)));
  const path = `/files/content?path=${ARCHIVE}`;
  const sent = links.request(id, { method: "PUT", path, body, headersTimeoutMs: SEND_MS, signal });
  const response = await Promise.race([sent, cut.promise]);
  await readResponseText(response.body);
  if (response.status >= 300) throw new Error(`the archive was not taken (${response.status})`);
  // Other sessions get the image by this digest.
  if (hash.digest("hex") !== digest) throw new BuildFailure("The image could not be built, because files changed in the meantime.");
}

async function runProgram(links: DaemonLinks, id: SandboxId, { onOutput, signal }: RunOptions): Promise<number | null> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ command: COMMAND });
  const response = await links.request(id, { method: "POST", path: "/exec", headers, body, bodyTimeoutMs: 0, signal });
  if (response.status !== 200) throw new Error(`the program was not started (${response.status})`);
  for await (const line of splitLines(response.body, MAX_LINE_CHARS)) {
    const event = JSON.parse(line) as ExecEvent;
    if (event.type === "stdout" || event.type === "stderr") onOutput(event.data);
    if (event.type === "exit") return event.code;
  }
  return null;
}

async function receiveImage(
  links: DaemonLinks,
  id: SandboxId,
  { image, maxBytes, signal }: { image: string; maxBytes: number; signal: AbortSignal },
): Promise<void> {
  const response = await links.request(id, { method: "GET", path: `/files/content?path=${IMAGE}`, bodyTimeoutMs: SILENT_MS, signal });
  if (response.status !== 200) throw new BuildFailure("The image could not be built: the build has left none.");
  const bounded = boundStream(response.body, maxBytes, () => new BuildFailure("The image is larger than the disk of its sandbox."));
  await pipe(bounded, createWriteStream(image, { mode: 0o600 }), { signal });
}
