import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { shareBerth } from "../support/servers/shared-berth.ts";

test("a WebSocket without the headers that a proxy removed is answered with what the proxy has to do", async () => {
  const { url } = await shareBerth();
  const headers = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13" };
  const [response] = (await once(get(`${url}/workspace/sbx_1/api/terminals/1`, { headers }), "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(426);
  expect(response.headers["x-error-code"]).toBe("upgrade_required");
  expect(await json(response)).toEqual({
    error: "This is a WebSocket. The proxy in front of the server must pass on the headers Upgrade and Connection",
  });
});
