import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";

export interface LossyProxy extends AsyncDisposable {
  url: string;
  // The requests that came, by their Idempotency-Key.
  keys: (string | undefined)[];
  // The next response does not arrive: the connection breaks when the service has answered.
  loseNext(): void;
}

// A proxy in front of a server, for calls that are executed and whose response is lost.
export async function openLossyProxy(target: string): Promise<LossyProxy> {
  let isLosing = false;
  const keys: LossyProxy["keys"] = [];
  const server = createServer((incoming, outgoing) => {
    keys.push(incoming.headers["idempotency-key"] as string | undefined);
    const { method, headers } = incoming;
    const forwarded = send(new URL(incoming.url!, target), { method, headers }, (answer) => {
      if (!isLosing) return void answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers));
      isLosing = false;
      answer.resume().once("end", () => outgoing.destroy());
    });
    incoming.pipe(forwarded.on("error", () => outgoing.destroy()));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    loseNext: () => void (isLosing = true),
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections();
    },
  };
}
