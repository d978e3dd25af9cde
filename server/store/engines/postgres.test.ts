import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { silentLog } from "../../log.ts";
import { openPostgres } from "./postgres.ts";

test("a connection that the database ends in the packet that opens it fails its query and not the process", async () => {
  const database = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, SHUTTING_DOWN])));
  });
  await once(database.listen(0, "127.0.0.1"), "listening");
  const { port } = database.address() as AddressInfo;
  const pool = openPostgres(`postgres://berth@127.0.0.1:${port}/berth`, { log: silentLog });

  const client = await pool.connect();
  await expect(client.query("select 1", [])).rejects.toMatchObject({ code: "store_unavailable" });
  client.release();
  await pool.end();
  database.close();
});

// PostgreSQL's messages: a letter, the length of what follows including itself, and the content.
function message(letter: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter, "latin1");
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const AUTHENTICATED = message("R", Buffer.alloc(4));
const READY = message("Z", Buffer.from("I"));
const SHUTTING_DOWN = message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"));
