import { WebhookVerificationError } from "../http/errors.ts";
import type { BerthEvent } from "../types.ts";

export interface VerifyOptions {
  // How old (or how far ahead) a message may be.
  toleranceSeconds?: number;
  nowMs?: number;
}

type HeaderSource = Headers | Record<string, string | string[] | undefined>;

// Checks that the service sent this (Standard Webhooks) and gives the event; otherwise WebhookVerificationError. `body` is
// what arrived, byte for byte: parsed and written anew it would not match. While a secret is changed, give both.
export async function verifyWebhook(
  body: string | Uint8Array<ArrayBuffer>,
  headers: HeaderSource,
  secret: string | string[],
  options: VerifyOptions = {},
): Promise<BerthEvent> {
  const { toleranceSeconds = 300, nowMs = Date.now() } = options;
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature").split(" ");
  if (!/^\d{1,12}$/.test(timestamp)) throw refusal("The webhook-timestamp is not a time");
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) throw refusal("The message is too old, or from the future");

  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const one of [secret].flat()) if (await isSignedWith(one, signed, signatures)) return JSON.parse(text) as BerthEvent;
  throw refusal("No signature matches");
}

async function isSignedWith(secret: string, signed: Uint8Array<ArrayBuffer>, signatures: string[]): Promise<boolean> {
  const raw = decode(secret.replace(/^whsec_/, ""));
  if (!raw) throw new TypeError("The webhook's secret is not base64");
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const signature of signatures) {
    const [version, value = ""] = signature.split(",", 2);
    const bytes = version === "v1" ? decode(value) : undefined;
    // `verify` compares in constant time.
    if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, signed))) return true;
  }
  return false;
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function headerOf(headers: HeaderSource, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const single = Array.isArray(value) ? value[0] : value;
  if (!single) throw refusal(`The header ${name} is missing`);
  return single;
}

const refusal = (message: string) => new WebhookVerificationError(message, { code: "webhook_unverified" });
