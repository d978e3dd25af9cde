import type { SandboxId, Template } from "@berth/contract";
import type { EgressCounters, PolicyChange } from "./proxy/proxy-factory.ts";
import type { HostCount } from "./proxy/host-counts.ts";
import type { Traffic } from "../forwarding/relay-caller.ts";

// The network access of sandboxes, through one proxy per sandbox. Every method is idempotent.
export interface Egress extends AsyncDisposable {
  // Call it before the driver's create or resume, and for every live sandbox after a restart of the server: programs in the
  // sandbox find the new proxy under the old address.
  open(sandboxId: SandboxId, template: Pick<Template, "egress">): Promise<void>;
  // Applies another policy to what begins from now on, and closes open connections that it forbids if asked to. No-op for a sandbox
  // without a proxy here.
  change(sandboxId: SandboxId, template: Pick<Template, "egress">, options: PolicyChange): Promise<void>;
  // Closes open connections and removes the proxy.
  close(sandboxId: SandboxId): Promise<void>;
  readonly counters: Readonly<EgressCounters>;
  // The bytes that each sandbox has exchanged with the outside since the last call.
  takeTraffic(): ReadonlyMap<SandboxId, Traffic>;
  // The hosts that each sandbox reached, or tried to, since the last call.
  takeHosts(): ReadonlyMap<SandboxId, readonly HostCount[]>;
}
