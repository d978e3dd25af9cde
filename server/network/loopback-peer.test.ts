import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect } from "vitest";
import { machine, testWith } from "../../tests/support/machine.ts";
import { readPeerUser } from "./loopback-peer.ts";

testWith(machine.linux, "the user at the other end of a loopback connection is known, and of a closed one it is not", async () => {
  for (const host of ["127.0.0.1", "::1"]) {
    const server = createServer().listen(0, host);
    await once(server, "listening");
    const client = connect({ host, port: (server.address() as AddressInfo).port });
    const [accepted] = (await once(server, "connection")) as [Socket];
    expect(readPeerUser(accepted)).toBe(process.getuid!());
    const { remotePort, localPort } = accepted;
    accepted.destroy();
    client.destroy();
    server.close();
    await once(server, "close");
    expect(readPeerUser({ remotePort: remotePort === 1 ? 2 : 1, localPort })).toBeUndefined();
  }
});
