import { createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { request } from "node:http";
import type { Socket } from "node:net";
import type { V1Pod } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { adoptionText, type AdoptRequest } from "@berth/contract/daemon-internal.ts";
import { dialPodAddress } from "../pods/dial-pod-address.ts";

// Sends the hash of a session's token to a pod from a SandboxWarmPool. All pods of a pool have the same spec, so it contains no secret,
// only our public key. The message is signed for one pod and one hash, so it is useless to anyone who intercepts it or who can
// reach another daemon.
export interface Adoption {
  // Goes into the spec of the pods.
  publicKey: string;
  // No-op if the pod was started with a token or was adopted with this one. Rejects if it was adopted with another token.
  adopt(pod: V1Pod, tokenHash: string, signal: AbortSignal): Promise<void>;
}

const ANSWER_TIMEOUT_MS = 5_000;

// The seeds are 32 secret bytes each, newest first. Pods that were started before the master key was rotated need an older one.
export function createAdoption(seeds: readonly Buffer[]): Adoption {
  const keys = seeds.map(privateKeyOf);
  return {
    publicKey: createPublicKey(keys[0]!).export({ format: "jwk" }).x!,
    async adopt(pod, tokenHash, signal) {
      if (!awaitsAdoption(pod)) return;
      const text = Buffer.from(adoptionText(pod.metadata?.uid ?? "", tokenHash));
      for (const key of keys) {
        const signature = sign(null, text, key).toString("base64url");
        const status = await post(await dialPodAddress(pod, signal), { tokenHash, signature }, signal);
        if (status === 200) return;
        if (status !== 401) throw refused(`the daemon answered ${status}`);
      }
      throw refused("the daemon has another key than ours, because its pool is older than the last change of BERTH_MASTER_KEY");
    },
  };
}

function awaitsAdoption(pod: V1Pod): boolean {
  const names = new Set(pod.spec?.containers[0]?.env?.map(({ name }) => name));
  return names.has("BERTH_ADOPT_KEY") && !names.has("BERTH_TOKEN_HASH");
}

const refused = (reason: string) =>
  new AppError("sandbox_failed", { cause: new Error(`kubernetes: a pod of the warm pool could not be adopted: ${reason}`) });

// Wraps an Ed25519 seed in PKCS #8.
function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  });
}

// Reads only the status, because the response comes from a sandbox and is untrusted.
function post(socket: Socket, body: AdoptRequest, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]);
    const headers = { "content-type": "application/json", connection: "close" };
    const adoption = request({ method: "POST", path: "/internal/adopt", headers, createConnection: () => socket, signal: bounded });
    adoption.once("response", ({ statusCode = 0 }) => {
      resolve(statusCode);
      socket.destroy();
    });
    adoption.on("error", (cause) => {
      socket.destroy();
      reject(signal.aborted ? (signal.reason as Error) : new AppError("sandbox_unreachable", { cause }));
    });
    adoption.end(JSON.stringify(body));
  });
}
