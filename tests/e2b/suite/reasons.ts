// Why a test of E2B cannot pass.
export const REASONS: readonly { file: string; test: string; reason: string }[] = [
  { file: "sandbox/files/signing", test: "as root", reason: "needs the user root" },
  { file: "sandbox/commands/envVars", test: "bash command scoped env vars", reason: "needs sudo" },
  { file: "sandbox/files/write", test: "write multiple files", reason: "writes to new folders in `/`, which is read-only" },
  { file: "sandbox/create", test: "MCP gateway", reason: "starts E2B's MCP gateway as root" },
  {
    file: "sandbox/snapshot",
    test: "filesystem-only pause reboots on resume",
    reason: "expects another boot id of the kernel, which containers share",
  },
  {
    file: "sandbox/lifecyclePayload",
    test: "filesystem-only auto-pause reboots on connect",
    reason: "expects another boot id of the kernel, which containers share",
  },
  { file: "sandbox/network", test: "deny specific IP address", reason: "`denyOut` of a single address" },
  { file: "sandbox/network", test: "denies a previously reachable IP after update", reason: "`denyOut` of a single address" },
  {
    file: "sandbox/network",
    test: "firewall transform injects headers",
    reason: "needs E2B's template `httpbin`, and `rules` with transforms",
  },
];
