import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ApiObject, Objects } from "./objects.ts";

// The storage of the double: a claim is bound at once if its class exists. Otherwise an event says why it is not. The files of a
// claim are deleted with it.
export function bindClaims(objects: Objects, volumesFolder: string): Disposable {
  return objects.onChange(({ kind, type, object }) => {
    if (kind !== "persistentvolumeclaims") return;
    const { name = "", uid } = object.metadata;
    // A process of the pod may still be ending, and writes until then.
    if (type === "DELETED") rmSync(join(volumesFolder, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
    if (type !== "ADDED") return;
    const storageClass = object.spec?.["storageClassName"] as string | undefined;
    const exists = storageClass === undefined ? objects.list("storageclasses").length > 0 : objects.get("storageclasses", storageClass);
    objects.setStatus(kind, name, { phase: exists ? "Bound" : "Pending" });
    if (exists) return;
    const [reason, message] =
      storageClass === undefined
        ? ["FailedBinding", "no persistent volumes available for this claim and no storage class is set"]
        : ["ProvisioningFailed", `storageclass.storage.k8s.io "${storageClass}" not found`];
    objects.create("events", {
      metadata: { name: `${name}.unbound` },
      reason,
      message,
      involvedObject: { name, uid },
    } as object as ApiObject);
  });
}
