import { createServer, type AddressInfo } from "node:net";

// Returns a port that is free at the moment. Another process may take it before the caller listens.
export async function freePort(address: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
