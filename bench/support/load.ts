import { connect } from "node:net";

export interface Load {
  port: number;
  // The bytes of one request.
  request: string;
  // The status that every response must have.
  status: number;
  count: number;
  // Each has one request at a time.
  connections: number;
}

// Sends the same request again and again over plain sockets, which cost far less than an HTTP client. Returns the milliseconds of
// each request.
export async function sendLoad({ port, request, status, count, connections }: Load): Promise<number[]> {
  const taken: number[] = [];
  let left = count;
  const useConnection = async () => {
    const socket = connect(port, "127.0.0.1").setNoDelay(true);
    const done = Promise.withResolvers<void>();
    let sentMs = 0;
    let answer = "";
    const send = () => {
      if (left-- <= 0) return done.resolve();
      answer = "";
      sentMs = performance.now();
      socket.write(request);
    };
    socket.setEncoding("latin1");
    socket.once("connect", send);
    socket.once("error", done.reject);
    socket.once("close", () => done.reject(new Error(`the server closed the connection after ${answer.slice(0, 300)}`)));
    socket.on("data", (chunk: string) => {
      answer += chunk;
      if (!isComplete(answer)) return;
      taken.push(performance.now() - sentMs);
      if (answer.startsWith(`HTTP/1.1 ${status} `)) send();
      else done.reject(new Error(`expected ${status}: ${answer.slice(0, 500)}`));
    });
    await done.promise.finally(() => socket.destroy());
  };
  await Promise.all(Array.from({ length: connections }, useConnection));
  return taken;
}

function isComplete(answer: string): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(answer.slice(0, end + 2))?.[1];
  if (length === undefined) throw new Error(`a response without a length: ${answer.slice(0, 300)}`);
  return answer.length >= end + 4 + Number(length);
}

// The bytes of a request with this API key.
export function formatRequest(method: string, path: string, key: string, body?: string): string {
  const head = [`${method} ${path} HTTP/1.1`, "Host: bench", `Authorization: Bearer ${key}`];
  if (body !== undefined) head.push("Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`);
  else if (method === "POST") head.push("Content-Length: 0");
  return `${head.join("\r\n")}\r\n\r\n${body ?? ""}`;
}
