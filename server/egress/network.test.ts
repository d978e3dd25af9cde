import { createServer, request, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { newId } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../log.ts";
import { createSecrets } from "../secrets.ts";
import { DEFAULT_TEMPLATE } from "../templates.ts";
import { createNetworkEgress, type NetworkEgress } from "./network.ts";
import { createPasses } from "./passes.ts";

const sandboxId = newId("sbx", 1);
const secrets = createSecrets([Buffer.alloc(32, 1)]);
let egress: NetworkEgress;
let web: Server;
let webPort: number;

beforeEach(async () => {
  web = createServer((_, response) => response.end("the world"));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  webPort = (web.address() as AddressInfo).port;
  const templates = new Map([
    ["default", DEFAULT_TEMPLATE],
    ["closed", { ...DEFAULT_TEMPLATE, name: "closed", egress: { policy: "none" as const } }],
  ]);
  egress = await createNetworkEgress({
    listen: "127.0.0.1:0",
    passes: createPasses(secrets),
    templates,
    log: silentLog,
    allow: [`127.0.0.1:${webPort}`],
    onModel: (_, response, id) => void response.end(`the model for ${id}`),
  });
});
afterEach(async () => {
  await egress[Symbol.asyncDispose]();
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
});

// As the daemon does: the pass, then whatever the program in the sandbox said.
async function say(firstLine: string, rest: string): Promise<string> {
  const socket = connect(egress.port, "127.0.0.1");
  socket.write(`${firstLine}\n${rest}`);
  return await text(socket).catch(() => "cut");
}
const get = (url: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const pass = (template = "default") => egress.pass({ sandboxId, template });

test("a connection with a pass is served by the policy of its template", async () => {
  expect(await say(pass(), get(`http://127.0.0.1:${webPort}/`))).toContain("the world");
  expect(await say(pass("closed"), get(`http://127.0.0.1:${webPort}/`))).toMatch(/403 .*no way out/s);
  expect(await say(pass(), get("http://169.254.169.254/"))).toContain("403");
});

test("the model relay learns from the pass who is asking", async () => {
  expect(await say(pass(), get("/model/v1/messages"))).toContain(`the model for ${sandboxId}`);
});

test("tunnels go through", async () => {
  const tunnel = await new Promise<string>((resolve, reject) => {
    const socket = connect(egress.port, "127.0.0.1");
    socket.write(`${pass()}\n`);
    const asked = request({ createConnection: () => socket, method: "CONNECT", path: `127.0.0.1:${webPort}` });
    asked.once("connect", (_response, tunnelled) => {
      tunnelled.write(get("/"));
      text(tunnelled).then(resolve, reject);
    });
    asked.once("error", reject).end();
  });
  expect(tunnel).toContain("the world");
});

test("without a genuine pass there is no way out, and no word", async () => {
  const genuine = pass();
  const other = createPasses(createSecrets([Buffer.alloc(32, 2)])).issue({ sandboxId, template: "default" });
  const forged = [
    "",
    "GET / HTTP/1.1",
    other,
    genuine.slice(0, -2),
    `${genuine}.`,
    genuine.replace(".default.", ".closed."),
    genuine.replace(sandboxId, newId("sbx", 2)),
    egress.pass({ sandboxId, template: "forgotten" }),
    "x".repeat(10_000),
  ];
  for (const line of forged) expect(["", "cut"]).toContain(await say(line, get(`http://127.0.0.1:${webPort}/`)));
  expect(egress.counters).toEqual({ allowed: 0, refused: 0 });
});

test("a pass from before a key was rotated still counts", async () => {
  const rotated = createPasses(createSecrets([Buffer.alloc(32, 9), Buffer.alloc(32, 1)]));
  expect(rotated.check(pass())).toEqual({ sandboxId, template: "default" });
});

test("closing a sandbox cuts its connections", async () => {
  const socket = connect(egress.port, "127.0.0.1", () => socket.write(`${pass()}\n`));
  await expect.poll(() => egress.close(sandboxId).then(() => socket.readyState)).toBe("closed");
});
