import { WebhookVerificationError } from "../http/errors.ts";
import { webCrypto } from "../http/web-crypto.ts";
import type { BerthEvent } from "../types/api-types.ts";
import type { Bytes } from "../types/sandbox-types.ts";

export interface VerifyOptions {
  // The maximum difference between the message's timestamp and the current time.
  toleranceSeconds?: number;
  nowMs?: number;
}

type HeaderSource = Headers | Record<string, string | string[] | undefined>;

// Verifies the signature according to Standard Webhooks and returns the event. Throws WebhookVerificationError if it is
// invalid. `body` must be the raw body: parsing and serializing it again breaks the signature. Pass both secrets while you
// rotate them.
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeaderSource,
  secret: string | string[],
  options: VerifyOptions = {},
): Promise<BerthEvent> {
  const { toleranceSeconds = 300, nowMs = Date.now() } = options;
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature").split(" ");
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid("The header webhook-timestamp is not a number");
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) throw invalid("The timestamp is too far from the current time");

  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const candidate of [secret].flat()) if (await isSignedWith(candidate, signed, signatures)) return JSON.parse(text) as BerthEvent;
  throw invalid("No signature matches");
}

async function isSignedWith(secret: string, signed: Bytes, signatures: string[]): Promise<boolean> {
  const raw = decode(secret.replace(/^whsec_/, ""));
  if (!raw) throw new TypeError("The webhook secret is not base64");
  const { subtle } = await webCrypto();
  const key = await subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const signature of signatures) {
    const [version, value = ""] = signature.split(",", 2);
    const bytes = version === "v1" ? decode(value) : undefined;
    // `verify` compares in constant time.
    if (bytes && (await subtle.verify("HMAC", key, bytes, signed))) return true;
  }
  return false;
}

function decode(base64: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function headerOf(headers: HeaderSource, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const single = Array.isArray(value) ? value[0] : value;
  if (!single) throw invalid(`The header ${name} is missing`);
  return single;
}

const invalid = (message: string) => new WebhookVerificationError(message, { code: "webhook_unverified" });
