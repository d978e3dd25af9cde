import type { Cluster } from "./cluster.ts";

export interface Right {
  namespace: string;
  group: string;
  resource: string;
  verb: string;
}

// May the account that we are do this? The API server is asked, not tried.
export async function isAllowed(cluster: Cluster, right: Right, signal: AbortSignal): Promise<boolean> {
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: right } };
  const answer = await cluster.create<{ status?: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    review as object,
    signal,
  );
  return answer?.status?.allowed === true;
}
