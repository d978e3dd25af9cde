import type { Cluster } from "./cluster.ts";

export interface Permission {
  namespace: string;
  group: string;
  resource: string;
  verb: string;
}

// Asks the API server whether our account has a permission.
export async function isAllowed(cluster: Cluster, permission: Permission, signal: AbortSignal): Promise<boolean> {
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: permission } };
  const answer = await cluster.create<{ status?: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    review as object,
    signal,
  );
  return answer?.status?.allowed === true;
}
