import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Session } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../../support/machine.ts";
import { startBerth, type Berth } from "../../support/servers/berth.ts";
import { gzipBomb } from "./bombs.ts";
import { missing } from "../sandboxes.ts";

const MiB = 1024 * 1024;
const GZIP = { "content-encoding": "gzip" };

// Every party that can send bytes to the server sends 2 GiB compressed into 2 MiB. The server forwards them unchanged or refuses
// them.
describeWith(missing, "compressed bodies", () => {
  const bomb = gzipBomb();
  const servers: Server[] = [];
  let berth: Berth;
  let session: Session;
  let memoryBefore: number;

  beforeAll(async () => {
    const provider = await listen((_request, response) =>
      response.writeHead(200, { ...GZIP, "content-type": "application/json" }).end(bomb),
    );
    berth = await startBerth({
      BERTH_WEBHOOK_ALLOW_PRIVATE: "1",
      BERTH_MODEL_PROVIDER: "openai",
      BERTH_MODEL_BASE_URL: `${provider}/v1`,
      BERTH_MODEL_API_KEY: "the-key-of-the-operator",
      BERTH_MODEL_NAME: "a-model",
    });
    session = await berth.api.create({ autoStartAgent: false });
    memoryBefore = await memoryOf(berth);
  });
  afterAll(async () => {
    await berth?.[Symbol.asyncDispose]();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function listen(answer: RequestListener): Promise<string> {
    const server = createServer(answer).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  // `fetch` would decompress the response.
  async function ask(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: Buffer,
  ): Promise<[IncomingMessage, Buffer]> {
    const asked = httpRequest(`${berth.url}${path}`, { method, agent: false, headers: { "x-api-key": berth.key, ...headers } });
    asked.on("error", () => {});
    asked.end(body);
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return [answer, await buffer(answer)];
  }

  const expectNoHarm = async () => expect((await memoryOf(berth)) - memoryBefore).toBeLessThan(256 * MiB);

  test("of partners are refused", async () => {
    const json = { "content-type": "application/json", ...GZIP };
    const [tooLarge] = await ask("POST", "/api/b2b/sessions", json, bomb);
    expect(tooLarge.statusCode).toBe(413);
    for (const encoding of ["gzip", "GZIP", "br", "deflate", "zstd", "identity, gzip"]) {
      const [response] = await ask("POST", "/api/b2b/sessions", { ...json, "content-encoding": encoding }, bomb.subarray(0, 500_000));
      expect(response.statusCode).toBe(415);
    }
    await expectNoHarm();
  });

  test("of uploads are stored unchanged", async () => {
    const path = `/sandboxes/${session.sandboxId}/files/content?path=bomb.gz`;
    expect((await ask("PUT", path, GZIP, bomb))[0].statusCode).toBe(201);
    expect((await ask("HEAD", path))[0].headers["content-length"]).toBe(String(bomb.length));
    await expectNoHarm();
  });

  test("of webhook receivers are read up to a limit", async () => {
    let cut = 0;
    const receiver = await listen((_request, response) => {
      response.writeHead(200, GZIP);
      Readable.from(endlessly(bomb)).pipe(response);
      response.once("close", () => cut++);
    });
    const created = await berth.api.call("POST", "/api/b2b/webhooks", { url: `${receiver}/hook` });
    expect(created.status).toBe(201);
    await berth.api.create({ autoStartAgent: false });
    await expect.poll(() => cut).toBeGreaterThan(0);
    await expectNoHarm();
  });

  test("of a model reach the sandbox unchanged", async () => {
    const { stdout } = await berth.api.exec(
      session.sandboxId,
      `curl -s -D - -o answer -H "authorization: Bearer $OPENAI_API_KEY" -d '{"messages":[]}' $OPENAI_BASE_URL/chat/completions; stat -c %s answer`,
    );
    expect(stdout).toMatch(/^HTTP\/1\.1 200 /);
    expect(stdout.toLowerCase()).toContain("content-encoding: gzip\r\n");
    expect(stdout.trim().split("\n").at(-1)).toBe(String(bomb.length));
    await expectNoHarm();
  });

  test("of a hostile daemon reach the caller unchanged, and its session can be paused and destroyed", async () => {
    await berth.api.exec(
      session.sandboxId,
      `cat > evil.py <<'EOF'
import os, socket, threading
os.rename("/run/berth/daemon.sock", "/run/berth/old")
server = socket.socket(socket.AF_UNIX); server.bind("/run/berth/daemon.sock"); server.listen(64)
bomb = open("bomb.gz", "rb").read()
def serve(c):
    try:
        c.recv(65536)
        c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Encoding: gzip\\r\\nContent-Type: application/json\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(bomb)); c.sendall(bomb)
    except OSError: pass
    finally: c.close()
while True:
    c, _ = server.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
EOF
setsid python3 evil.py > /dev/null 2>&1 & while ! [ -S /run/berth/daemon.sock ] || ! [ -e /run/berth/old ]; do sleep 0.01; done`,
    );
    // The server's open connections lead to the old daemon. While they are busy, the server opens new ones.
    const command = Buffer.from(JSON.stringify({ command: "sleep 30" }));
    const busy = Array.from({ length: 4 }, () =>
      ask("POST", `/sandboxes/${session.sandboxId}/exec`, { "content-type": "application/json" }, command).catch(() => null),
    );
    await expect.poll(async () => (await ask("GET", `/sandboxes/${session.sandboxId}/files`))[1].length).toBe(bomb.length);
    const [response] = await ask("GET", `/sandboxes/${session.sandboxId}/files`);
    expect(response.headers["content-encoding"]).toBeUndefined();
    const path = `/api/b2b/sessions/${session.sessionId}`;
    expect((await ask("POST", `${path}/pause`))[0].statusCode).toBe(200);
    await Promise.all(busy);
    expect((await ask("DELETE", path))[0].statusCode).toBe(200);
    await expectNoHarm();
  });
});

test("the server's code decompresses nothing", () => {
  const root = join(import.meta.dirname, "../../..");
  const unpacks =
    /\bfetch\(|\b(?:createG|g)unzip|\b(?:createI|i)nflate|[bB]rotliDecompress|[zZ]stdDecompress|\bunzip|decompress\(|permessage-deflate/;
  const files = globSync("{server,contract}/**/*.ts", { cwd: root }).filter((file) => !/\.test\.ts$|\/testing|node_modules/.test(file));
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => unpacks.test(readFileSync(join(root, file), "utf8")))).toEqual([]);
});

function* endlessly(bytes: Buffer): Generator<Buffer> {
  for (;;) yield bytes;
}

async function memoryOf({ url }: Berth): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^berth_process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}
