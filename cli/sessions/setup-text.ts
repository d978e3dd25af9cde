import type { SessionSetup } from "@berth/server/store/sessions/session-setup.ts";
import { orDash } from "../terminal/output.ts";

export function sourceText(setup: SessionSetup | null): string {
  const source = setup?.source;
  if (!source) return orDash(null);
  const { git, status, reason } = source;
  const from = git ? `${git.url}${git.ref === undefined ? "" : ` at ${git.ref}`}` : `the snapshot ${source.snapshotId}`;
  return `${from}: ${status}${reason === null ? "" : ` (${reason})`}`;
}

export function setupText(setup: SessionSetup | null): string {
  if (!setup || setup.status === "none") return orDash(null);
  return setup.exitCode === null ? setup.status : `${setup.status} with exit code ${setup.exitCode}`;
}
