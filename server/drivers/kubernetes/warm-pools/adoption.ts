import { createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { request } from "node:http";
import type { Socket } from "node:net";
import type { V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { adoptionText, type AdoptRequest } from "@berth/contract/daemon.ts";
import { dialPodAddress } from "../pods/dial-pod-address.ts";

// Gives a pod that was started ahead, by a SandboxWarmPool, the hash of its session's token. Pods of a pool are all alike,
// so nothing secret can stand in them; what stands there is our public key, and what is sent is signed for one pod and one
// hash. Whoever else reaches the daemon, or listens in, can do nothing with it.
export interface Adoption {
  // For the pods' description.
  publicKey: string;
  // Content when the pod was started with a token, or has been adopted with this one. An adoption with another is fatal.
  adopt(pod: V1Pod, tokenHash: string, signal: AbortSignal): Promise<void>;
}

const ANSWER_MS = 5_000;

// The seeds are 32 secret bytes each, newest first: pods that waited while the master key was rotated know an older one.
export function createAdoption(seeds: readonly Buffer[]): Adoption {
  const keys = seeds.map(privateKeyOf);
  return {
    publicKey: createPublicKey(keys[0]!).export({ format: "jwk" }).x!,
    async adopt(pod, tokenHash, signal) {
      if (!waits(pod)) return;
      const text = Buffer.from(adoptionText(pod.metadata?.uid ?? "", tokenHash));
      for (const key of keys) {
        const signature = sign(null, text, key).toString("base64url");
        const status = await post(await dialPodAddress(pod, signal), { tokenHash, signature }, signal);
        if (status === 200) return;
        if (status !== 401) throw refused(`the daemon answered ${status}`);
      }
      throw refused("the daemon knows another key than ours: its pool is older than the last change of BERTH_MASTER_KEY");
    },
  };
}

function waits(pod: V1Pod): boolean {
  const names = new Set(pod.spec?.containers[0]?.env?.map(({ name }) => name));
  return names.has("BERTH_ADOPT_KEY") && !names.has("BERTH_TOKEN_HASH");
}

const refused = (reason: string) =>
  new AppError("sandbox_failed", { cause: new Error(`kubernetes: a pod of the warm pool could not be taken: ${reason}`) });

// PKCS #8 around a bare Ed25519 seed.
function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  });
}

// The status is all that is read: the answer is a sandbox's.
function post(socket: Socket, body: AdoptRequest, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const headers = { "content-type": "application/json", connection: "close" };
    const asked = request({ method: "POST", path: "/internal/adopt", headers, createConnection: () => socket, signal: within });
    asked.once("response", ({ statusCode = 0 }) => {
      resolve(statusCode);
      socket.destroy();
    });
    asked.on("error", (cause) => {
      socket.destroy();
      reject(signal.aborted ? (signal.reason as Error) : new AppError("sandbox_unreachable", { cause }));
    });
    asked.end(JSON.stringify(body));
  });
}
