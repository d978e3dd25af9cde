import { Agent, request } from "node:http";
import type { Session } from "@berth/contract";
import type { ExecEvent } from "@berth/contract/daemon.ts";

// A client that costs little, because it shares the processors with what it measures. It keeps its connections.
export interface Caller extends Disposable {
  // Throws unless the response has this status.
  call(method: string, path: string, expected: number, body?: object): Promise<string>;
  create(): Promise<Session>;
  destroy(session: Session): Promise<void>;
  // Runs a command in the sandbox and returns its standard output. Throws if it fails.
  exec(sandboxId: string, command: string | string[]): Promise<string>;
}

export function createCaller({ url, key }: { url: string; key: string }): Caller {
  const { port } = new URL(url);
  const agent = new Agent({ keepAlive: true });

  const call: Caller["call"] = (method, path, expected, body) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${key}`,
        ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      };
      const sent = request({ host: "127.0.0.1", port, method, path, agent, headers }, (response) => {
        let answer = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (answer += chunk));
        response.once("error", reject);
        response.once("end", () => {
          if (response.statusCode === expected) resolve(answer);
          else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${answer.slice(0, 500)}`));
        });
      });
      sent.once("error", reject);
      sent.end(text);
    });

  return {
    call,
    create: async () =>
      JSON.parse(await call("POST", "/api/b2b/sessions", 201, { externalUserId: "bench", autoStartAgent: false })) as Session,
    destroy: async ({ sessionId }) => void (await call("DELETE", `/api/b2b/sessions/${sessionId}`, 200)),
    async exec(sandboxId, command) {
      const answer = await call("POST", `/sandboxes/${sandboxId}/exec`, 200, { command });
      const events = answer
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as ExecEvent);
      const last = events.at(-1);
      if (last?.type !== "exit" || last.code !== 0) throw new Error(`${String(command)} failed: ${answer.slice(-500)}`);
      return events.map((event) => (event.type === "stdout" ? event.data : "")).join("");
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
