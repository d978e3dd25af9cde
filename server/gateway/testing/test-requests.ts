import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { SandboxId } from "@berth/contract";

export interface SendOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  // Called for each part of the reply's body.
  onPart?: (part: Buffer) => void;
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  trailers: Record<string, string>;
  body: string;
  // False if the connection was cut before the end of the reply.
  complete: boolean;
}

export function sendTo(port: number, path: string, { method = "GET", headers = {}, body, onPart }: SendOptions = {}): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const request = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false }, (response) => {
    const parts: Buffer[] = [];
    response.on("data", (part: Buffer) => {
      parts.push(part);
      onPart?.(part);
    });
    response.on("error", () => {});
    response.on("close", () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        trailers: response.trailers as Record<string, string>,
        body: Buffer.concat(parts).toString("utf8"),
        complete: response.complete,
      }),
    );
  });
  request.on("error", reject);
  request.end(body);
  return promise;
}

// Reads the session's event stream part by part; returns "end" at the end.
export async function openStream(
  { port, sandboxId }: { port: number; sandboxId: SandboxId },
  cookie: string,
): Promise<{ next(): Promise<string> }> {
  const request = httpRequest({
    port,
    host: "127.0.0.1",
    path: `/workspace/${sandboxId}/session/stream`,
    headers: { cookie },
  });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const parts = response.setEncoding("utf8")[Symbol.asyncIterator]() as AsyncIterator<string>;
  return {
    async next() {
      const part = await parts.next();
      return part.done ? "end" : part.value.trim();
    },
  };
}
