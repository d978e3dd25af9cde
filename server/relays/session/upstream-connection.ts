import { once } from "node:events";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { SandboxId } from "@berth/contract";
import type { ConnectionBoundary } from "../../faults/connection-boundary.ts";
import type { RelayCaller } from "../../forwarding/relay-caller.ts";
import { visitOf } from "../relays.ts";
import { RelayRefusal } from "./relay-refusal.ts";

// Connects to an upstream, or says why not. Private addresses are refused unless the operator allows them.
export type DialUpstream = (
  target: { host: string; port: number },
  call: { sandboxId: SandboxId; signal: AbortSignal },
) => Promise<Socket | { status: number; reason: string }>;

export interface UpstreamConnection {
  url: URL;
  // The name of the relay.
  name: string;
  dial: DialUpstream;
  // The upstream is untrusted: a failure caused by its bytes closes only its own connection.
  boundary: ConnectionBoundary;
  caller: RelayCaller;
  signal: AbortSignal;
}

const TLS_TIMEOUT_MS = 15_000;

// A connection to the upstream for one request, with TLS for https.
export async function connectUpstream({ url, name, dial, boundary, caller, signal }: UpstreamConnection): Promise<Socket> {
  const visit = visitOf(url, `relay ${name}`);
  const { host, port } = visit;
  const dialled = await dial({ host, port }, { sandboxId: caller.sandboxId, signal });
  if ("reason" in dialled) {
    caller.note({ ...visit, outcome: dialled.status === 403 ? "refused" : "unreachable" });
    throw new RelayRefusal(502, `${url.host} cannot be reached: ${dialled.reason}.`);
  }
  boundary.cover(dialled);
  caller.count(visit, dialled);
  if (url.protocol !== "https:") return dialled;
  // Without `host`, Node would check the certificate of an address for the name localhost.
  const secured = connectTls({ socket: dialled, host, ...(isIP(host) === 0 && { servername: host }), ALPNProtocols: ["http/1.1"] });
  boundary.cover(secured);
  try {
    await once(secured, "secureConnect", { signal: AbortSignal.any([signal, AbortSignal.timeout(TLS_TIMEOUT_MS)]) });
    return secured;
  } catch (error) {
    dialled.destroy();
    throw new RelayRefusal(502, `${url.host} has no valid certificate (${(error as NodeJS.ErrnoException).code ?? "no answer"}).`);
  }
}
