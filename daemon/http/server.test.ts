import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { sendJson } from "./reply.ts";
import { createDaemonServer } from "./server.ts";

test("a response says nothing about the time or its connection, which stays open until the server ends it", async () => {
  const server = createDaemonServer();
  server.on("request", (_request, response) => sendJson(response, 200, {}));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\nCache-Control: no-store\r\n";
  const ask = async (connection: string) => {
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${connection}\r\n`);
    const [bytes] = (await once(socket, "data")) as [Buffer];
    return bytes.toString();
  };
  for (let i = 0; i < 2; i++) expect(await ask("")).toBe(`${head}\r\n{}`);
  const closed = once(socket, "close");
  expect(await ask("Connection: close\r\n")).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  await closed;
  server.close();
});
