// Speaks E2B's wire protocol as its SDK 2.51 does, for requests that the SDK does not send.

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // The parsed body; null if it is not JSON.
  json: never;
}

export interface Wire {
  api(method: string, path: string, body?: unknown): Promise<Answer>;
  create(body?: object): Promise<WireSandbox>;
  sandbox(created: { sandboxID: string; envdAccessToken: string }): WireSandbox;
}

export interface WireSandbox {
  id: string;
  token: string;
  unary(call: string, body?: object): Promise<Answer>;
  // Reads a stream until `isEnough`, or to its end.
  stream(call: string, body: object, isEnough?: (message: Message) => boolean, headers?: Record<string, string>): Promise<Message[]>;
  fetch(path: string, init?: RequestInit): Promise<Answer>;
  run(command: string): Promise<{ stdout: string; exitCode: number }>;
}

// A message of a stream; the last one has `flags` 2.
export interface Message {
  flags: number;
  json: never;
}

export function createWire(url: string, key: string): Wire {
  const sandbox: Wire["sandbox"] = ({ sandboxID: id, envdAccessToken: token }) => {
    const own = { "e2b-sandbox-id": id, "e2b-sandbox-port": "49983", "x-access-token": token };
    const send = (path: string, init: RequestInit = {}) =>
      fetch(`${url}/e2b/envd${path}`, { ...init, headers: { ...own, ...(init.headers as Record<string, string>) } });
    const post = (call: string, type: string, body: Uint8Array<ArrayBuffer>, headers = {}) =>
      send(`/${call}`, { method: "POST", body, headers: { "content-type": type, ...headers } });
    const stream: WireSandbox["stream"] = async (call, body, isEnough = () => false, headers = {}) => {
      const response = await post(call, "application/connect+json", envelope(body), headers);
      const messages: Message[] = [];
      for await (const message of readMessages(response)) {
        messages.push(message);
        if (isEnough(message)) break;
      }
      return messages;
    };
    return {
      id,
      token,
      stream,
      unary: async (call, body = {}) => read(await post(call, "application/json", new TextEncoder().encode(JSON.stringify(body)))),
      fetch: async (path, init) => read(await send(path, init)),
      async run(command) {
        const process = { cmd: "/bin/bash", args: ["-l", "-c", command] };
        const events = (await stream("process.Process/Start", { process, stdin: false })).map(({ json }) => eventOf(json));
        const stdout = events.map((event) => Buffer.from(event.data?.stdout ?? "", "base64").toString()).join("");
        return { stdout, exitCode: events.find((event) => event.end)?.end?.exitCode ?? -1 };
      },
    };
  };

  const api: Wire["api"] = async (method, path, body) =>
    read(
      await fetch(`${url}/e2b${path}`, {
        method,
        headers: { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );

  return {
    api,
    sandbox,
    async create(body = {}) {
      const created = await api("POST", "/v2/sandboxes", { templateID: "base", timeout: 120, ...body });
      if (created.status !== 201) throw new Error(`create answered ${created.status}: ${created.text}`);
      return sandbox(created.json);
    },
  };
}

interface ProcessMessage {
  start?: { pid: number };
  data?: { stdout?: string; stderr?: string; pty?: string };
  end?: { exitCode: number; exited: boolean; status: string };
}

export const eventOf = (json: { event?: ProcessMessage }): ProcessMessage => json.event ?? {};

export function envelope(body: object, { flags = 0, length }: { flags?: number; length?: number } = {}): Uint8Array<ArrayBuffer> {
  const json = Buffer.from(JSON.stringify(body));
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(length ?? json.length, 1);
  return new Uint8Array(Buffer.concat([head, json]));
}

async function* readMessages(response: Response): AsyncGenerator<Message> {
  if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}: ${await response.text()}`);
  let bytes: Buffer = Buffer.alloc(0);
  for await (const chunk of response.body) {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1);
      yield { flags: bytes[0] ?? 0, json: JSON.parse(bytes.toString("utf8", 5, end)) as never };
      bytes = bytes.subarray(end);
    }
  }
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  const isJson = headers.get("content-type")?.startsWith("application/json") && text !== "";
  return { status, headers, text, json: (isJson ? JSON.parse(text) : null) as never };
}
