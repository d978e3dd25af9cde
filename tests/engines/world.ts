import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// A web server that answers "the world". A sandbox reaches it only if its egress allows that.
export interface World extends AsyncDisposable {
  // host:port
  address: string;
  url: string;
}

export async function startWorld(): Promise<World> {
  const server = createServer((_, response) => response.end("the world"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address,
    url: `http://${address}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

// A command that sends a request through the sandbox's proxy and prints the response.
export function askThrough(url: string): string {
  const script = `const u=new URL(process.env.HTTP_PROXY);require("http").get({host:u.hostname,port:u.port,path:"${url}",headers:{connection:"close"}},r=>r.pipe(process.stdout)).on("error",e=>console.log(e.code))`;
  return `$(ls /opt/berth/bin/node 2> /dev/null || echo ${process.execPath}) -e '${script}'`;
}
