import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";

export const newWebhookSecret = (): string => PREFIX + randomBytes(32).toString("base64");

// Signs a message as Standard Webhooks specifies: HMAC-SHA256 over `{id}.{timestamp}.{body}`, with one signature per secret.
// During a rotation there are two secrets.
export function signatureHeaders(message: { id: string; body: string; atMs: number }, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(message.atMs / 1000));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => `v1,${sign(secret, signed)}`).join(" "),
  };
}

const sign = (secret: string, text: string): string =>
  createHmac("sha256", Buffer.from(secret.slice(PREFIX.length), "base64"))
    .update(text)
    .digest("base64");
