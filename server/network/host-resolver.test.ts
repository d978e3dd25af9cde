import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createHostResolver, toLookup } from "./host-resolver.ts";

test("names in the hosts file are resolved", async () => {
  expect(await createHostResolver()("localhost")).toContain("127.0.0.1");
});

test("an answer or a failure is cached for a while", async () => {
  const asked: string[] = [];
  let nowMs = 0;
  const resolve = createHostResolver({
    async lookUp(host) {
      asked.push(host);
      if (host === "absent") throw new Error("ENOTFOUND");
      return ["10.0.0.1"];
    },
    nowMs: () => nowMs,
  });
  expect(await Promise.all([resolve("present"), resolve("present")])).toEqual([["10.0.0.1"], ["10.0.0.1"]]);
  await expect(resolve("absent")).rejects.toThrow("ENOTFOUND");
  await expect(resolve("absent")).rejects.toThrow("ENOTFOUND");
  expect(asked).toEqual(["present", "absent"]);
  nowMs = 10_001;
  await resolve("present");
  expect(asked).toEqual(["present", "absent", "present"]);
});

test.each([{ autoSelectFamily: true }, { autoSelectFamily: false }])("node:net connects through toLookup with %o", async (options) => {
  const server = createServer((socket) => void socket.end("hello"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: "provider.example", port, lookup: toLookup(async () => ["127.0.0.1"]), ...options });
  expect(String((await once(socket, "data"))[0])).toBe("hello");
  socket.destroy();
  server.close();
});

test("a failed lookup fails the connection", async () => {
  const socket = connect({ host: "provider.example", port: 1, lookup: toLookup(() => Promise.reject(new Error("ENOTFOUND"))) });
  expect(String((await once(socket, "error"))[0])).toContain("ENOTFOUND");
});
