import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { verifyWebhook, WebhookVerificationError } from "../index.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
const event = { id: "evt_1", type: "session.paused", timestamp: "2030-01-01T00:00:00.000Z", data: { sessionId: "ses_1" } };

// Signs with the reference library instead of our own code.
function sign(body: string, { secret = SECRET, at = new Date(), id = "evt_1" } = {}): Record<string, string> {
  const signature = new Webhook(secret).sign(id, at, body);
  return { "webhook-id": id, "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "webhook-signature": signature };
}

test("accepts signatures of the reference library, with any kind of headers", async () => {
  const body = JSON.stringify(event);
  const headers = sign(body);
  expect(await verifyWebhook(body, headers, SECRET)).toEqual(event);
  expect(await verifyWebhook(new TextEncoder().encode(body), new Headers(headers), SECRET)).toEqual(event);
  const uppercase = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
  expect(await verifyWebhook(body, uppercase, SECRET)).toEqual(event);
});

test("accepts two secrets, or two signatures, during a rotation", async () => {
  const body = JSON.stringify(event);
  expect(await verifyWebhook(body, sign(body, { secret: OTHER }), [SECRET, OTHER])).toEqual(event);
  const both = {
    ...sign(body),
    "webhook-signature": `${sign(body, { secret: OTHER })["webhook-signature"]} ${sign(body)["webhook-signature"]}`,
  };
  expect(await verifyWebhook(body, both, SECRET)).toEqual(event);
});

test("refuses messages that are modified, old, incomplete or of another version", async () => {
  const body = JSON.stringify(event);
  const headers = sign(body);
  const refused: [string, Record<string, string | undefined>][] = [
    [`${body} `, headers],
    [body, { ...headers, "webhook-id": "evt_2" }],
    [body, { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) }],
    [body, { ...headers, "webhook-timestamp": "soon" }],
    [body, { ...headers, "webhook-signature": "v1,AAAA" }],
    [body, { ...headers, "webhook-signature": "v1,***" }],
    [body, { ...headers, "webhook-signature": headers["webhook-signature"]?.replace("v1,", "v2,") }],
    [body, { ...headers, "webhook-signature": undefined }],
    [body, { ...headers, "webhook-id": undefined }],
    [body, sign(body, { secret: OTHER })],
    [body, sign(body, { at: new Date(Date.now() - 301_000) })],
    [body, sign(body, { at: new Date(Date.now() + 330_000) })],
  ];
  for (const [text, given] of refused) await expect(verifyWebhook(text, given, SECRET)).rejects.toThrow(WebhookVerificationError);
});

test("agrees with the reference library on any body", async () => {
  const property = fc.asyncProperty(fc.jsonValue(), fc.uint8Array({ minLength: 24, maxLength: 64 }), async (value, key) => {
    const secret = `whsec_${Buffer.from(key).toString("base64")}`;
    const body = JSON.stringify(value);
    expect(await verifyWebhook(body, sign(body, { secret }), secret)).toEqual(JSON.parse(body));
  });
  await fc.assert(property, { numRuns: 200 });
});
