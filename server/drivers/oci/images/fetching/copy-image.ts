import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readFileIfReadable } from "../../../../bounded-io/read-small-file.ts";
import { imageNotFetched } from "../../../image-not-fetched.ts";
import { PLAIN_PATH, run } from "../../../host/run.ts";
import { ImageRefusal } from "./image-refusal.ts";
import type { ImageSource } from "./image-source.ts";

// How to reach registries.
export interface RegistryOptions {
  // A file with credentials, as `docker login` and `skopeo login` write it.
  authFile?: string | null;
  // A folder with certificates (*.crt) of authorities that are trusted besides those of the machine.
  certificatesDir?: string | null;
}

export interface ResolvedImage {
  // Of the manifest, or of the index of several platforms.
  digest: string;
  // The size of the download, if the source states it.
  bytes?: number;
}

const MANIFEST_BYTES = 4 * 1024 * 1024;
const RESOLVE_MS = 60_000;
// The operator's rules for signatures, if there are any.
const POLICY_FILE = "/etc/containers/policy.json";
// The name of the image in the layout.
export const LAYOUT_TAG = "image";

// Asks the source for the image's manifest. `draft` is a folder for temporary files.
export async function resolveImage(
  source: ImageSource,
  draft: string,
  registry: RegistryOptions,
  signal: AbortSignal,
): Promise<ResolvedImage> {
  const inspect = async (reference: string) => {
    const file = join(draft, "work/manifest.json");
    const args = ["inspect", "--raw", ...connectionFlags("", source, registry), reference];
    await skopeo(args, { draft, registry, signal, timeoutMs: RESOLVE_MS, fileBytes: MANIFEST_BYTES, output: file });
    return readFileSync(file);
  };
  const bytes = await inspect(source.reference);
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const manifest = parseManifest(bytes);
  // An index does not say how large its images are.
  const ownDigest = manifest.manifests?.find(isOfThisMachine)?.digest;
  const reference = ownDigest === undefined ? undefined : source.at?.(ownDigest);
  return { digest, ...sizeOf(reference === undefined ? manifest : parseManifest(await inspect(reference))) };
}

interface Manifest {
  layers?: ({ size?: unknown } | null)[];
  // Of an index.
  manifests?: ({ digest?: string; platform?: { os?: string; architecture?: string } } | null)[];
}

function parseManifest(bytes: Buffer): Manifest {
  try {
    const { layers, manifests } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    return { ...(Array.isArray(layers) && { layers }), ...(Array.isArray(manifests) && { manifests }) };
  } catch (cause) {
    throw new ImageRefusal("its registry answers with something other than an image", { cause });
  }
}

const ARCHITECTURE = process.arch === "x64" ? "amd64" : process.arch;
const isOfThisMachine = (entry: NonNullable<Manifest["manifests"]>[number]) =>
  entry?.platform?.os === "linux" && entry.platform.architecture === ARCHITECTURE && DIGEST.test(`${entry.digest}`);
const DIGEST = /^sha256:[0-9a-f]{64}$/;

// Copies the image for this kind of processor into an OCI layout. skopeo compares every file with the digest that the manifest names,
// and the manifest with the digest of the reference.
export async function copyImage(
  source: ImageSource,
  { digest, draft }: { digest: string; draft: string },
  registry: RegistryOptions,
  { signal, timeoutMs, fileBytes }: { signal: AbortSignal; timeoutMs: number; fileBytes: number },
): Promise<void> {
  const from = source.at?.(digest) ?? source.reference;
  // umoci needs compressed layers, and those of an archive are not. Fast compression is enough: they are unpacked right away.
  const quickly = ["--dest-compress-level", "1"];
  const args = ["copy", "--quiet", ...quickly, ...connectionFlags("src-", source, registry), from, `oci:work/layout:${LAYOUT_TAG}`];
  await skopeo(args, { draft, registry, signal, timeoutMs, fileBytes });
}

interface SkopeoOptions {
  draft: string;
  registry: RegistryOptions;
  signal: AbortSignal;
  timeoutMs: number;
  // The maximum size of one file.
  fileBytes: number;
  // The file for its output. Absent: the output is discarded.
  output?: string;
}

async function skopeo(args: readonly string[], { draft, registry, signal, timeoutMs, fileBytes, output }: SkopeoOptions): Promise<void> {
  const policy = existsSync(POLICY_FILE) ? [] : ["--insecure-policy"];
  // The program must not outlive the server, which would not expect its files.
  const command = ["setpriv", "--pdeathsig", "KILL", "prlimit", `--fsize=${fileBytes}`, "skopeo", ...policy, ...args];
  const work = join(draft, "work");
  const env = { ...proxyVariables(), PATH: PLAIN_PATH, LC_ALL: "C", HOME: work, TMPDIR: work, XDG_RUNTIME_DIR: work };
  const script = ["-c", 'cd "$1"; out=$2; shift 2; exec "$@" > "$out"', "sh", draft, output ?? "/dev/null"];
  const { code, output: said } = await run("sh", [...script, ...command], { signal, timeoutMs, env });
  if (code !== 0) throw imageNotFetched(`skopeo ended with ${code ?? "a signal"}: ${withoutCredentials(said, registry).slice(-1000)}`);
}

// The output of skopeo quotes the registry, which is not trusted: it may repeat the password that it was sent. The query
// of a URL may have a signature that gives access to the file.
function withoutCredentials(text: string, { authFile }: RegistryOptions): string {
  const secrets = authFile ? secretsIn(readFileIfReadable(authFile) ?? "") : [];
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, "***"), text).replaceAll(/(https?:\/\/[^\s"?]*)\?[^\s"\\]*/g, "$1?***");
}

// Shorter strings occur in any text.
const MIN_SECRET = 4;

// The passwords of a file with credentials, in the forms in which they are sent.
function secretsIn(text: string): string[] {
  try {
    const { auths = {} } = JSON.parse(text) as {
      auths?: Record<string, { auth?: string; identitytoken?: string; registrytoken?: string }>;
    };
    const found = Object.values(auths).flatMap(({ auth = "", identitytoken, registrytoken }) => {
      const pair = Buffer.from(auth, "base64").toString();
      return [auth, pair, pair.slice(pair.indexOf(":") + 1), identitytoken, registrytoken];
    });
    return found.filter((secret) => secret !== undefined && secret.length >= MIN_SECRET) as string[];
  } catch {
    return [];
  }
}

// A machine may reach registries only through a proxy.
const proxyVariables = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (PROXY.test(name) && value ? [[name, value]] : [])));

const PROXY = /^(https?|no)_proxy$/i;

// skopeo has a prefix for some options of its command `copy`, which has two peers.
function connectionFlags(prefix: "" | "src-", { isLoopback }: ImageSource, { authFile, certificatesDir }: RegistryOptions): string[] {
  return [
    ...(authFile ? ["--authfile", authFile] : []),
    ...(certificatesDir ? [`--${prefix}cert-dir`, certificatesDir] : []),
    ...(isLoopback && !certificatesDir ? [`--${prefix}tls-verify=false`] : []),
  ];
}

function sizeOf({ layers }: Manifest): { bytes?: number } {
  return layers
    ? { bytes: layers.reduce((sum, layer) => sum + (typeof layer?.size === "number" && layer.size > 0 ? layer.size : 0), 0) }
    : {};
}
