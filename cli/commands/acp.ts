import { once } from "node:events";
import { text } from "node:stream/consumers";
import { Command } from "commander";
import { WebSocket } from "ws";
import { splitLines } from "@berth/server/bounded-io/split-lines.ts";
import { withServer } from "../installation/server-call.ts";

// `berth acp`: an editor starts it as its agent. It connects the editor, which speaks the Agent Client Protocol over standard input and
// output, with the agent of a session, which speaks it over a WebSocket.

const TOKEN_VARIABLE = "BERTH_SESSION_TOKEN";
const TOKEN_TTL_MS = 24 * 3_600_000;
// The largest message that a sandbox takes.
const MAX_MESSAGE_LENGTH = 1024 * 1024;

export const command = new Command()
  .argument(
    "<session>",
    `id of a session of the partner \`demo\`, or of the one whose key BERTH_API_KEY is; or a sandboxUrl, with a session token in ${TOKEN_VARIABLE}`,
  )
  .action(run);

async function run(session: string): Promise<void> {
  if (!/^https?:\/\//.test(session))
    return withServer(async ({ sessions, baseUrl }) => connectWithKey(await sessions.get(session), baseUrl));
  const token = process.env[TOKEN_VARIABLE];
  if (token === undefined) throw new Error(`Set ${TOKEN_VARIABLE} to a token of the session with the scope agent.`);
  await bridge(session, token);
}

type Session = Awaited<ReturnType<Parameters<Parameters<typeof withServer>[0]>[0]["sessions"]["get"]>>;

// The key itself never leaves this process: the connection has a token of its own, as long as it lasts.
async function connectWithKey({ tokens, sandboxUrl }: Session, baseUrl: string): Promise<void> {
  const { token, tokenId } = await tokens.create({ scopes: ["agent"], ttlMs: TOKEN_TTL_MS, name: "berth acp" });
  try {
    // Its own address is for partners, and need not lead here from this machine.
    await bridge(new URL(new URL(sandboxUrl).pathname, baseUrl).href, token);
  } finally {
    await tokens.revoke(tokenId);
  }
}

async function bridge(sandboxUrl: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  // A request resumes a paused session with `autoResume`, which a WebSocket does not.
  const health = await fetch(sandboxUrl, { headers });
  if (!health.ok) throw refusal(health.status, await health.text());
  await health.body?.cancel();
  const socket = new WebSocket(`${sandboxUrl.replace(/^http/, "ws").replace(/\/$/, "")}/acp`, { headers, perMessageDeflate: false });
  socket.on("unexpected-response", (_request, response) => {
    void text(response).then((body) => socket.emit("error", refusal(response.statusCode ?? 0, body)));
  });
  const closed = once(socket, "close") as Promise<[code: number, reason: Buffer]>;
  // An error before the socket is open is reported by the next wait.
  closed.catch(() => {});
  await once(socket, "open");
  socket.on("message", (data: Buffer) => {
    if (!process.stdout.write(`${data.toString()}\n`)) socket.pause();
  });
  process.stdout.on("drain", () => socket.resume());
  // The editor is gone.
  process.stdout.on("error", () => socket.close());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => socket.close());
  const sent = sendLines(socket);
  const [code, reason] = await Promise.race([closed, sent.then(() => closed)]);
  process.stdin.destroy();
  if (code !== 1000 && code !== 1005) throw new Error(`The connection to the sandbox has ended: ${reason.toString() || `code ${code}`}.`);
}

function refusal(status: number, body: string): Error {
  if (status === 404 && !body.includes("Session not found")) return new Error("This sandbox is too old for editors. Create a new session.");
  try {
    return new Error(`The sandbox answers ${status}: ${(JSON.parse(body) as { error: string }).error}.`);
  } catch {
    return new Error(`The sandbox answers ${status}.`);
  }
}

// Resolves when the editor has closed its end.
async function sendLines(socket: WebSocket): Promise<void> {
  try {
    for await (const line of splitLines(process.stdin, MAX_MESSAGE_LENGTH)) {
      // Resolves when the line is written, so that a slow network holds back the editor.
      await new Promise((resolve) => socket.send(line, resolve));
    }
  } finally {
    socket.close(1000);
  }
}
