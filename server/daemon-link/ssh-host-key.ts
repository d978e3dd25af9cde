import type { SandboxId } from "@berth/contract";
import type { DaemonLinks } from "./daemon-links.ts";
import { readResponseText } from "./link-errors.ts";

const TIMEOUT_MS = 5_000;
// The length and the name of the algorithm, and the length of the key, which has 32 bytes.
const HEAD = Buffer.from("\0\0\0\x0bssh-ed25519\0\0\0\x20", "latin1");
const KEY_BYTES = 32;

// The host key of a sandbox's SSH server; null if its daemon does not name one. It is what code in the sandbox says, in the right form.
export async function readSshHostKey(links: Pick<DaemonLinks, "request">, sandboxId: SandboxId): Promise<string | null> {
  try {
    const deadlines = { headersTimeoutMs: TIMEOUT_MS, bodyTimeoutMs: TIMEOUT_MS };
    const response = await links.request(sandboxId, { method: "GET", path: "/ssh", ...deadlines });
    const said = JSON.parse(await readResponseText(response.body)) as { hostKey?: unknown } | null;
    return response.status === 200 && isHostKey(said?.hostKey) ? said.hostKey : null;
  } catch {
    return null;
  }
}

export function isHostKey(value: unknown): value is string {
  const encoded = typeof value === "string" ? /^ssh-ed25519 ([A-Za-z0-9+/]{68})$/.exec(value)?.[1] : undefined;
  if (encoded === undefined) return false;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.length === HEAD.length + KEY_BYTES && bytes.subarray(0, HEAD.length).equals(HEAD);
}
