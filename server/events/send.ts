import { lookup } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { isPublicAddress } from "../egress/addresses.ts";

// One attempt to hand a message to a partner's receiver. The address comes from the partner, so it is not trusted: names
// are resolved here, private addresses are refused after that, and the connection goes to the address that was looked at.

export type Outcome = { ok: true; status: number } | { ok: false; status: number | null; error: string };

export interface Message {
  url: string;
  headers: Record<string, string>;
  body: string;
}

export const ATTEMPT_MS = 15_000;
const MAX_ANSWER_BYTES = 64 * 1024;

export async function sendMessage(message: Message, allowPrivate: boolean, signal: AbortSignal): Promise<Outcome> {
  try {
    const url = new URL(message.url);
    const address = await resolveTarget(url.hostname, allowPrivate, signal);
    const status = await post(url, address, message, signal);
    // A redirect could lead anywhere, so it is a failure like any other.
    return status >= 200 && status < 300 ? { ok: true, status } : { ok: false, status, error: `The receiver answered ${status}` };
  } catch (error) {
    return { ok: false, status: null, error: explain(error, signal) };
  }
}

export const isRefusedAddress = (host: string, allowPrivate: boolean): boolean =>
  !allowPrivate && isIP(bare(host)) !== 0 && !isPublicAddress(bare(host));

const bare = (host: string): string => host.replace(/^\[|\]$/g, "");

class RefusedError extends Error {}

async function resolveTarget(hostname: string, allowPrivate: boolean, signal: AbortSignal): Promise<string> {
  const host = bare(hostname);
  const found = isIP(host) ? [{ address: host }] : await orAbort(lookup(host, { all: true, order: "ipv4first" }), signal);
  const allowed = found.filter(({ address }) => allowPrivate || isPublicAddress(address));
  if (!allowed[0]) throw new RefusedError("The address is not on the public Internet");
  return allowed[0].address;
}

function post(url: URL, address: string, { headers, body }: Message, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const request = send(
    {
      host: address,
      port: url.port || (url.protocol === "https:" ? 443 : 80),
      path: url.pathname + url.search,
      method: "POST",
      // The certificate is that of the name, wherever the name leads.
      servername: isIP(bare(url.hostname)) ? "" : url.hostname,
      headers: {
        host: url.host,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "berth-webhooks",
        ...headers,
      },
      agent: false,
      signal,
    },
    (response) => {
      resolve(response.statusCode ?? 0);
      // Nothing in the answer's body is of interest, and it may be endless.
      let bytes = 0;
      response.on("error", () => {});
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) response.destroy();
      });
    },
  );
  request.on("error", reject);
  request.end(body);
  return promise;
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", stop));
}

// In the partner's delivery log: what it can do something about, nothing of our inside.
function explain(error: unknown, signal: AbortSignal): string {
  if (error instanceof RefusedError) return error.message;
  if (signal.aborted) return `No answer within ${ATTEMPT_MS / 1000} seconds`;
  const { code } = error as NodeJS.ErrnoException;
  return code ? `The connection failed: ${code}` : "The connection failed";
}
