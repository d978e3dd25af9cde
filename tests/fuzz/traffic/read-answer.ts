// A small, strict parser of HTTP responses, because the harness must see the bytes on the wire and not a library's reading.

export interface ReadAnswer {
  status: number;
  // Names in lower case.
  headers: Map<string, string>;
  body: string;
}

export type Read =
  | { is: "answer"; answer: ReadAnswer }
  // `head` is set when the headers of a final response are complete. Its body is what has arrived so far.
  | { is: "incomplete"; head?: ReadAnswer }
  | { is: "garbage" };

export function readAnswer(received: Buffer, { isHead, isClosed }: { isHead: boolean; isClosed: boolean }): Read {
  let start = 0;
  for (;;) {
    const end = received.indexOf("\r\n\r\n", start);
    if (end < 0) return mayBecomeHead(received.subarray(start)) ? { is: "incomplete" } : { is: "garbage" };
    const head = parseHead(received.subarray(start, end).toString("latin1"));
    if (!head) return { is: "garbage" };
    start = end + 4;
    // Informational responses are followed by the final response.
    if (head.status >= 100 && head.status < 200 && head.status !== 101) continue;
    return readBody(head, received.subarray(start), { isHead, isClosed });
  }
}

const mayBecomeHead = (part: Buffer): boolean => {
  const start = part.subarray(0, 9).toString("latin1");
  return "HTTP/1.1 ".startsWith(start) || "HTTP/1.0 ".startsWith(start);
};

function parseHead(text: string): ReadAnswer | undefined {
  const [first = "", ...lines] = text.split("\r\n");
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first) ?? [];
  if (status === undefined) return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    headers.set(name.toLowerCase(), value);
  }
  return { status: Number(status), headers, body: "" };
}

function readBody(head: ReadAnswer, rest: Buffer, { isHead, isClosed }: { isHead: boolean; isClosed: boolean }): Read {
  const whole = (body: string): Read => ({ is: "answer", answer: { ...head, body } });
  const partly = (body: string): Read => ({ is: "incomplete", head: { ...head, body } });
  const { status, headers } = head;
  if (isHead || status === 101 || status === 204 || status === 304) return whole("");
  if (headers.get("transfer-encoding") === "chunked") {
    const { body, isComplete } = readChunks(rest);
    if (body === undefined) return { is: "garbage" };
    return isComplete ? whole(body) : partly(body);
  }
  const length = headers.get("content-length");
  if (length === undefined) return isClosed ? whole(rest.toString("latin1")) : partly(rest.toString("latin1"));
  if (!/^\d+$/.test(length)) return { is: "garbage" };
  const body = rest.subarray(0, Number(length)).toString("latin1");
  return rest.length >= Number(length) ? whole(body) : partly(body);
}

function readChunks(rest: Buffer): { body: string | undefined; isComplete: boolean } {
  let body = "";
  let at = 0;
  for (;;) {
    const lineEnd = rest.indexOf("\r\n", at);
    if (lineEnd < 0) return { body, isComplete: false };
    const [, digits] = /^([0-9a-fA-F]{1,8})(?:;.*)?$/.exec(rest.subarray(at, lineEnd).toString("latin1")) ?? [];
    if (digits === undefined) return { body: undefined, isComplete: false };
    const size = Number.parseInt(digits, 16);
    at = lineEnd + 2;
    if (size === 0) return { body, isComplete: rest.indexOf("\r\n", at) === at || rest.indexOf("\r\n\r\n", at) >= 0 };
    if (rest.length < at + size + 2) return { body: body + rest.subarray(at, at + size).toString("latin1"), isComplete: false };
    body += rest.subarray(at, at + size).toString("latin1");
    at += size + 2;
  }
}
