import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, machine } from "../../../../tests/support/machine.ts";
import type { Image } from "../../../../tests/support/registry/image.ts";
import { busyboxImage } from "../../../../tests/support/registry/images.ts";
import { registryMissing } from "../../../../tests/support/registry/registry.ts";
import { silentLog } from "../../../log.ts";
import { plainRunner } from "../../host/file-runner.ts";
import { createImageStore } from "./image-store.ts";

const missing = [...registryMissing, machine.command("skopeo"), machine.command("umoci"), machine.root];
const PASSWORD = "hunter2-secret";
const AUTH = Buffer.from(`user:${PASSWORD}`).toString("base64");

// A request that reached a server: its path and its credentials.
interface Seen {
  path: string;
  authorization: string | undefined;
}

interface Peer extends AsyncDisposable {
  at: string;
  seen: Seen[];
}

async function startPeer(host: string, reply: (request: IncomingMessage, response: ServerResponse) => void): Promise<Peer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? "", authorization: request.headers.authorization });
    reply(request, response);
  }).listen(0, host);
  await once(server, "listening");
  return {
    at: `${host}:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describeWith(missing, "a hostile registry", () => {
  let folder: string;
  const image = busyboxImage();

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-hostile-registry-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  // The message for callers, or `fetched`, and the reason in the server's log.
  async function fetchFrom(registry: Peer): Promise<{ message: string; logged: string }> {
    const dataDir = mkdtempSync(join(folder, "data-"));
    const authFile = join(dataDir, "auth.json");
    writeFileSync(authFile, JSON.stringify({ auths: { [registry.at]: { auth: AUTH } } }));
    mkdirSync(join(dataDir, "images"));
    let logged = "";
    const log = { ...silentLog, warn: (event: string, fields?: object) => (logged += `${event} ${JSON.stringify(fields)}\n`) };
    await using store = createImageStore({ dataDir, files: plainRunner, log, registry: { authFile } });
    const name = `${registry.at}/box:latest`;
    const message = await store.ensure(name, AbortSignal.timeout(30_000)).then(
      () => "fetched",
      (error: Error) => error.message,
    );
    expect(readdirSync(join(dataDir, "images/drafts"))).toEqual([]);
    if (message !== "fetched") expect(store.state(name)).toEqual({ state: "failed", sentence: message });
    return { message, logged };
  }

  test("that repeats our password does not get it into the log", async () => {
    await using registry = await startPeer("127.0.0.1", (request, response) => {
      const { authorization } = request.headers;
      if (!authorization) response.setHeader("www-authenticate", 'Basic realm="x"');
      const plain = Buffer.from(String(authorization).slice("Basic ".length), "base64").toString();
      const message = `no access with ${authorization}, that is ${plain}, see https://host/blob?signature=abc`;
      response.writeHead(401).end(JSON.stringify({ errors: [{ code: "DENIED", message }] }));
    });
    const { message, logged } = await fetchFrom(registry);
    expect(message).toBe("The image could not be fetched: its registry does not have it, or does not give it to this server");
    expect(registry.seen.at(-1)!.authorization).toBe(`Basic ${AUTH}`);
    expect(logged).toContain("no access with Basic ***, that is ***");
    for (const secret of [PASSWORD, AUTH, "signature=abc"]) expect(logged).not.toContain(secret);
  });

  test("cannot redirect our password to another host, and does not bring the answer of that host into an error or the log", async () => {
    await using other = await startPeer("127.0.0.2", (_, response) => void response.writeHead(200).end("internal data"));
    await using registry = await startPeer("127.0.0.1", (request, response) => {
      if (!request.headers.authorization) response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end("{}");
      else if (request.url === "/v2/") response.end("{}");
      else if (request.url!.includes("/manifests/")) answerManifest(response, image);
      else response.writeHead(307, { location: `http://${other.at}/latest/meta-data` }).end();
    });
    const { message, logged } = await fetchFrom(registry);
    expect(message).toMatch(/^The image could not be fetched/);
    expect(other.seen).toContainEqual({ path: "/latest/meta-data", authorization: undefined });
    expect(other.seen.every(({ authorization }) => authorization === undefined)).toBe(true);
    expect(message + logged).not.toContain("internal data");
  });

  test.each(["<html>", "null", "[]", '{"layers":[null,{"size":-1}],"manifests":[null,{"platform":null}]}'])(
    "that answers with %s instead of a manifest causes an error with a sentence",
    async (text) => {
      await using registry = await startPeer("127.0.0.1", (request, response) => {
        if (request.url === "/v2/") response.end("{}");
        else response.setHeader("content-type", image.mediaType).end(text);
      });
      const { message } = await fetchFrom(registry);
      expect(message).toMatch(/^The image could not be (used: its registry answers with something other than an image|fetched)/);
    },
  );
});

function answerManifest(response: ServerResponse, { mediaType, manifests }: Image): void {
  response.setHeader("content-type", mediaType).end(manifests[0]!.content);
}
