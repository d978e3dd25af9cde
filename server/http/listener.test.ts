import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createListener } from "./listener.ts";

const SLOW = "POST /PATH HTTP/1.1\r\nhost: berth\r\ncontent-length: 4\r\nconnection: close\r\n\r\nab";

it("waits for the body of a call only so long, and for an upload as long as it lasts", async () => {
  const echo = (request: IncomingMessage, response: ServerResponse) =>
    void text(request).then(
      (body) => response.end(body),
      () => {},
    );
  const mount = { owns: (request: IncomingMessage) => request.url === "/upload", request: echo, upgrade() {} };
  const server = createListener(echo, mount, { bodyTimeoutMs: 100 });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;

  const call = connect(port, "127.0.0.1");
  call.write(SLOW.replace("PATH", "call"));
  const refusal = await text(call);
  expect(refusal).toMatch(/^HTTP\/1\.1 408 /);
  expect(refusal).toContain("request_timeout");

  const upload = connect(port, "127.0.0.1");
  upload.write(SLOW.replace("PATH", "upload"));
  setTimeout(() => upload.write("cd"), 300);
  expect(await text(upload)).toMatch(/^HTTP\/1\.1 200 [^]*abcd/);
  server.close();
});
