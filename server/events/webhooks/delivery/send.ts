import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { isPublicAddress } from "../../../network/public-address.ts";
import { raceAbort } from "../../../bounded-io/race-abort.ts";
import { resolveLocalName, resolveName } from "../../../network/resolve-name.ts";

export type Outcome = { ok: true; status: number } | { ok: false; status: number | null; error: string };

export interface Message {
  url: string;
  headers: Record<string, string>;
  body: string;
}

// Limits an attempt up to the end of the response's headers.
export const ATTEMPT_MS = 15_000;
// The body is read only so that the receiver can finish writing it. The connection is closed after the attempt.
const BODY_MS = 1_000;
const MAX_BODY_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
// 100 Continue and other interim responses.
const MAX_INFORMATIONAL = 8;

export interface SendOptions {
  // Whether the receiver may have a private address.
  allowPrivate: boolean;
  signal: AbortSignal;
}

// Makes one attempt to send a message to a partner's receiver. The URL comes from the partner and is untrusted: its name is
// resolved here, private addresses are refused, and the connection goes to the checked address. The response is untrusted too: its
// time and size are limited, and only its status is used.
export async function sendMessage(message: Message, { allowPrivate, signal }: SendOptions): Promise<Outcome> {
  try {
    const url = new URL(message.url);
    const address = await resolveTarget(url.hostname, { allowPrivate, signal });
    const status = await post(url, address, message, signal);
    if (status < 100 || status > 599) return { ok: false, status: null, error: INVALID_RESPONSE };
    // A redirect could lead anywhere, so it counts as a failure.
    return status >= 200 && status < 300 ? { ok: true, status } : { ok: false, status, error: `The receiver answered ${status}` };
  } catch (error) {
    return { ok: false, status: null, error: explain(error, signal) };
  }
}

// Whether a host is a literal address that is not public. Names are checked when they are resolved.
export const isPrivateAddress = (host: string): boolean => isIP(withoutBrackets(host)) !== 0 && !isPublicAddress(withoutBrackets(host));

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "");

const INVALID_RESPONSE = "The response is not valid HTTP";

// Its message is for the partner's delivery log.
class RefusedError extends Error {}

async function resolveTarget(hostname: string, { allowPrivate, signal }: SendOptions): Promise<string> {
  const host = withoutBrackets(hostname);
  const resolve = allowPrivate ? resolveLocalName : resolveName;
  const found = isIP(host) ? [host] : await raceAbort(resolve(host), signal);
  const allowed = found.find((address) => allowPrivate || isPublicAddress(address));
  if (allowed === undefined) throw new RefusedError("The address is not on the public Internet");
  return allowed;
}

// The status of the response. The connection is closed when the promise settles.
function post(url: URL, address: string, { headers, body }: Message, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  let status: number | undefined;
  let bodyTimer: NodeJS.Timeout | undefined;
  let informational = 0;
  const end = () => (status === undefined ? reject(new RefusedError("The connection ended without a response")) : resolve(status));
  const request = send(
    {
      host: address,
      port: url.port || (url.protocol === "https:" ? 443 : 80),
      path: url.pathname + url.search,
      method: "POST",
      // The certificate must match the name, not the address.
      servername: isIP(withoutBrackets(url.hostname)) ? "" : url.hostname,
      headers: {
        host: url.host,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "berth-webhooks",
        ...headers,
      },
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    },
    (response) => {
      status = response.statusCode ?? 0;
      bodyTimer = setTimeout(end, BODY_MS);
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES) end();
      });
      for (const event of ["end", "close", "error"]) response.on(event, end);
    },
  );
  request.on("information", () => {
    if (++informational > MAX_INFORMATIONAL) reject(new RefusedError(INVALID_RESPONSE));
  });
  request.on("error", (error) => (status === undefined ? reject(error) : end()));
  // Covers all other cases, such as a response of 101.
  request.on("close", end);
  request.end(body);
  return promise.finally(() => {
    clearTimeout(bodyTimer);
    request.destroy();
  });
}

// The error for the partner's delivery log, without internals.
function explain(error: unknown, signal: AbortSignal): string {
  if (error instanceof RefusedError) return error.message;
  if (signal.aborted) return `No response within ${ATTEMPT_MS / 1000} seconds`;
  const { code } = error as NodeJS.ErrnoException;
  if (code?.startsWith("HPE_")) return INVALID_RESPONSE;
  return code ? `The connection failed: ${code}` : "The connection failed";
}
