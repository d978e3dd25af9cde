import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { tarFile, type TarEntry } from "./tar.ts";

// Container images that the tests make themselves: no program runs and nothing is downloaded.
const CACHE = join(import.meta.dirname, "../../../node_modules/.cache/berth");
const OCI = "application/vnd.oci.image";

export interface Blob {
  // Hostile images name the digest or the size of other content.
  digest: string;
  size: number;
  // Bytes, or the path of a file.
  content: Buffer | string;
}

export interface Layer extends Blob {
  // The digest of the unpacked tar file.
  diffId: string;
}

// `config` of the image, as in the OCI image specification.
export interface ImageConfig {
  Env?: string[];
  WorkingDir?: string;
  User?: string;
  Entrypoint?: string[];
  Cmd?: string[];
}

export interface Image {
  // The digest by which the image is pinned, of its manifest or index.
  digest: string;
  mediaType: string;
  layers: Layer[];
  // The manifest; with an index, that first.
  manifests: Blob[];
  // The config and the layers.
  blobs: Blob[];
}

export function makeImage(layers: Layer[], config: ImageConfig = {}): Image {
  const about = jsonBlob({
    architecture: architecture(),
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const mediaType = `${OCI}.manifest.v1+json`;
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType,
    config: { mediaType: `${OCI}.config.v1+json`, digest: about.digest, size: about.size },
    layers: layers.map(({ digest, size }) => ({ mediaType: `${OCI}.layer.v1.tar+gzip`, digest, size })),
  });
  return { digest: manifest.digest, mediaType, layers, manifests: [manifest], blobs: [about, ...layers] };
}

// The same image behind an index, as most public images have it. The index also names another platform, whose manifest is missing.
export function withIndex(image: Image): Image {
  const mediaType = `${OCI}.index.v1+json`;
  const describe = ({ digest, size }: Blob, of: string) => ({
    mediaType: image.mediaType,
    digest,
    size,
    platform: { architecture: of, os: "linux" },
  });
  const manifest = image.manifests[0]!;
  const index = jsonBlob({
    schemaVersion: 2,
    mediaType,
    manifests: [describe({ ...manifest, digest: digestOf(Buffer.from("another platform")) }, "s390x"), describe(manifest, architecture())],
  });
  return { ...image, digest: index.digest, mediaType, manifests: [index, manifest] };
}

export function makeLayer(entries: readonly TarEntry[]): Layer {
  const tar = tarFile(entries);
  return packedLayer(gzipSync(tar, { level: 1 }), digestOf(tar));
}

export function packedLayer(content: Buffer, diffId: string): Layer {
  return { digest: digestOf(content), diffId, size: content.length, content };
}

// The layer of a tar file. To compress it takes seconds, so it is cached until the tar file has another name.
export async function cachedLayer(name: string, tar: string): Promise<Layer> {
  const prefix = `layer-${name}-`;
  const kept = join(CACHE, prefix + basename(tar, ".tar"));
  if (!existsSync(kept)) {
    await mkdir(CACHE, { recursive: true });
    const draft = await mkdtemp(join(CACHE, `draft-${prefix}`));
    const content = gzipSync(await readFile(tar), { level: 1 });
    await writeFile(join(draft, "layer.tar.gz"), content);
    await writeFile(join(draft, "layer.json"), JSON.stringify({ ...packedLayer(content, await digestOfFile(tar)), content: "" }));
    // Another worker may have been faster.
    await rename(draft, kept).catch(() => rm(draft, { recursive: true }));
    for (const other of await readdir(CACHE))
      if (other.startsWith(prefix) && other !== basename(kept)) await rm(join(CACHE, other), { recursive: true, force: true });
  }
  const layer = JSON.parse(await readFile(join(kept, "layer.json"), "utf8")) as Layer;
  return { ...layer, content: join(kept, "layer.tar.gz") };
}

// For names such as `oci:/folder:latest`. `skopeo copy` makes an archive of it.
export async function writeOciLayout(folder: string, image: Image): Promise<void> {
  await mkdir(join(folder, "blobs/sha256"), { recursive: true });
  await writeFile(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  const { size } = image.manifests[0]!;
  const entry = { mediaType: image.mediaType, digest: image.digest, size, annotations: { "org.opencontainers.image.ref.name": "latest" } };
  await writeFile(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [entry] }));
  for (const blob of [...image.manifests, ...image.blobs])
    await writeBlob(join(folder, "blobs/sha256", blob.digest.slice("sha256:".length)), blob);
}

// `linked`: a file in the cache is not copied.
export async function writeBlob(path: string, { content }: Blob, { linked = false } = {}): Promise<void> {
  if (typeof content !== "string") await writeFile(path, content);
  else if (linked && !existsSync(path)) await symlink(content, path);
  else if (!linked) await copyFile(content, path);
}

function jsonBlob(value: object): Blob & { content: Buffer } {
  const content = Buffer.from(JSON.stringify(value));
  return { digest: digestOf(content), size: content.length, content };
}

export const digestOf = (content: Buffer) => `sha256:${createHash("sha256").update(content).digest("hex")}`;

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest("hex")}`;
}

const architecture = () => (process.arch === "x64" ? "amd64" : process.arch);
