import { findMcpFaults } from "../../mcp-servers.ts";
import { FORBIDDEN_HEADERS, isUsableUrl } from "../../upstreams.ts";
import type { CreateSession, FieldFault } from "@berth/contract";

// The faults of `source`, `relays` and `mcpServers` that their schemas cannot express.
export function findSetupFaults({ source, relays = [], mcpServers = [], count, resources }: CreateSession): FieldFault[] {
  const faults: FieldFault[] = [];
  const named = source ? [source.git, source.snapshotId, source.sessionId].filter((value) => value !== undefined).length : 0;
  if (source && named !== 1) faults.push({ field: "source", message: "Must have exactly one of git, snapshotId and sessionId" });
  const hasFiles = source?.snapshotId !== undefined || source?.sessionId !== undefined;
  if (count !== undefined && !hasFiles) faults.push({ field: "count", message: "Needs a source with a snapshotId or a sessionId" });
  if (hasFiles && resources?.diskMb !== undefined)
    faults.push({ field: "resources.diskMb", message: "The disk has the size of the source's disk" });
  if (source?.git && !isUsableUrl(source.git.url))
    faults.push({ field: "source.git.url", message: "Must be the https or http URL of a repository" });
  for (const [i, { name, upstream, header }] of relays.entries()) {
    if (!isUsableUrl(upstream)) faults.push({ field: `relays.${i}.upstream`, message: "Must be an https or http URL" });
    if (FORBIDDEN_HEADERS.has(header.toLowerCase())) faults.push({ field: `relays.${i}.header`, message: "This header cannot be set" });
    if (relays.findIndex((other) => other.name === name) !== i) faults.push({ field: `relays.${i}.name`, message: "Must be unique" });
  }
  return [...faults, ...findMcpFaults(mcpServers)];
}
