import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { machine, type Missing } from "../machine.ts";
import { onPath } from "../on-path.ts";
import { freePort } from "../servers/port.ts";
import { makeCertificate } from "../servers/tls.ts";
import { writeBlob, type Image } from "./image.ts";
import { busyboxMissing } from "./images.ts";

// Debian's docker-registry on loopback, with TLS and a password. Images are written directly into its storage, which takes
// milliseconds and also works for an image that no client would push.
export interface TestRegistry extends AsyncDisposable {
  // `127.0.0.1:20123`
  host: string;
  // A folder for `skopeo --cert-dir` with the registry's self-signed certificate.
  certificateFolder: string;
  // With the password, as `docker login` writes it.
  authFile: string;
  // Adds the image, or points the tag `latest` to it, and returns its name in a template: `127.0.0.1:20123/debian:latest`.
  add(repository: string, image: Image): Promise<string>;
  // Like an outage of the registry.
  stop(): Promise<void>;
  start(): Promise<void>;
}

export const registryMissing: Missing[] = [
  machine.command("docker-registry"),
  machine.command("openssl"),
  busyboxMissing,
  machine.file("/lib/ld-musl-*.so.1", "musl"),
];

const USER = "berth";
const PASSWORD = "registry-password";
// bcrypt, the only format that the registry reads: `htpasswd -nbB -C 4 berth registry-password`.
const PASSWORD_HASH = "$2y$04$berthberthberthberthbecij6RGSbS0Q.bOzwGwEVQJFibuj2d/K";

export async function startRegistry(): Promise<TestRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "berth-registry-"));
  const host = `127.0.0.1:${await freePort()}`;
  const at = (name: string) => join(folder, name);
  const { key, cert } = makeCertificate();
  await mkdir(at("certificates"));
  const certificate = at("certificates/ca.crt");
  await writeFile(certificate, cert);
  await writeFile(at("key.pem"), key, { mode: 0o600 });
  await writeFile(at("htpasswd"), `${USER}:${PASSWORD_HASH}\n`);
  const auth = Buffer.from(`${USER}:${PASSWORD}`).toString("base64");
  await writeFile(at("auth.json"), JSON.stringify({ auths: { [host]: { auth } } }), { mode: 0o600 });
  // YAML contains JSON.
  await writeFile(at("config.yml"), JSON.stringify(describeConfig(host, folder, certificate)));
  let server = await startServer(host, at("config.yml"), cert);

  return {
    host,
    certificateFolder: at("certificates"),
    authFile: at("auth.json"),
    async add(repository, image) {
      await addImage(at("storage/docker/registry/v2"), repository, image);
      return `${host}/${repository}:latest`;
    },
    stop: () => server.stop(),
    async start() {
      server = await startServer(host, at("config.yml"), cert);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}

function describeConfig(host: string, folder: string, certificate: string): object {
  return {
    version: "0.1",
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "storage") } },
    http: { addr: host, secret: "of the tests", tls: { certificate, key: join(folder, "key.pem") } },
    auth: { htpasswd: { realm: "tests", path: join(folder, "htpasswd") } },
  };
}

async function startServer(host: string, config: string, ca: Buffer): Promise<{ stop(): Promise<void> }> {
  const child = spawn(onPath("docker-registry")!, ["serve", config], { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
  while (!(await answers(host, ca))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`docker-registry ended: ${errors}`);
    await sleep(20);
  }
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function answers(host: string, ca: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(`https://${host}/v2/`, { ca, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 401);
    });
    asked.once("error", () => resolve(false));
    asked.end();
  });
}

// The folders of the registry's storage: the bytes of all repositories, and files that link to them.
async function addImage(storage: string, repository: string, image: Image): Promise<void> {
  const hex = (digest: string) => digest.slice("sha256:".length);
  const link = async (path: string, digest: string) => {
    await mkdir(join(storage, "repositories", repository, path), { recursive: true });
    await writeFile(join(storage, "repositories", repository, path, "link"), digest);
  };
  for (const blob of [...image.blobs, ...image.manifests]) {
    const folder = join(storage, "blobs/sha256", hex(blob.digest).slice(0, 2), hex(blob.digest));
    await mkdir(folder, { recursive: true });
    await writeBlob(join(folder, "data"), blob, { linked: true });
    await link(`_layers/sha256/${hex(blob.digest)}`, blob.digest);
  }
  for (const { digest } of image.manifests) await link(`_manifests/revisions/sha256/${hex(digest)}`, digest);
  await link(`_manifests/tags/latest/index/sha256/${hex(image.digest)}`, image.digest);
  await link("_manifests/tags/latest/current", image.digest);
}
