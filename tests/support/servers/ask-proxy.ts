// A command for a sandbox to which neither `none` nor `public` egress answers with more than a reason, and each with its own.
export const ASK_PROXY = "curl -s --noproxy '' http://127.0.0.1:1/";

// The policy that has answered so.
export function policyThatSaid(text: string): "none" | "public" {
  if (text.includes("no network access")) return "none";
  if (text.includes("port 1 is not allowed")) return "public";
  throw new Error(`the proxy said ${text}`);
}
