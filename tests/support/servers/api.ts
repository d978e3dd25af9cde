import type { ExecEvent } from "@berth/contract/daemon.ts";
import type { Session } from "@berth/contract";

// The calls of a partner's backend.
export interface Api {
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: never; headers: Headers }>;
  create(body?: object): Promise<Session>;
  // Runs a command in the sandbox and waits for its end.
  exec(sandboxId: string, command: string | string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
  writeFile(sandboxId: string, path: string, content: string | Uint8Array): Promise<void>;
  // Returns null if the file does not exist.
  readFile(sandboxId: string, path: string): Promise<Buffer | null>;
}

export function createApi(url: string, key: string): Api {
  const headers = { authorization: `Bearer ${key}` };

  const call: Api["call"] = async (method, path, body, extra = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }), ...extra },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return { status: response.status, body: (isJson && text ? JSON.parse(text) : text) as never, headers: response.headers };
  };

  return {
    call,
    async create(body = {}) {
      const response = await call("POST", "/api/b2b/sessions", { externalUserId: "user-1", ...body });
      if (response.status !== 201) throw new Error(`create answered ${response.status}: ${JSON.stringify(response.body)}`);
      return response.body;
    },
    async exec(sandboxId, command) {
      const response = await fetch(`${url}/sandboxes/${sandboxId}/exec`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ command }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`exec answered ${response.status}: ${text}`);
      const events = text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as ExecEvent);
      const outputOf = (type: string) => events.map((event) => (event.type === type && "data" in event ? event.data : "")).join("");
      const exit = events.find((event) => event.type === "exit");
      return { code: exit?.code ?? null, stdout: outputOf("stdout"), stderr: outputOf("stderr") };
    },
    async writeFile(sandboxId, path, content) {
      const response = await fetch(`${url}/sandboxes/${sandboxId}/files/content?path=${encodeURIComponent(path)}`, {
        method: "PUT",
        headers,
        body: content as string,
      });
      if (!response.ok) throw new Error(`write answered ${response.status}: ${await response.text()}`);
      await response.body?.cancel();
    },
    async readFile(sandboxId, path) {
      const response = await fetch(`${url}/sandboxes/${sandboxId}/files/content?path=${encodeURIComponent(path)}`, { headers });
      if (response.status === 404) return null;
      if (!response.ok) throw new Error(`read answered ${response.status}: ${await response.text()}`);
      return Buffer.from(await response.arrayBuffer());
    },
  };
}
