import type { SessionView } from "../../sessions/sessions.ts";

// The facts about a sandbox that E2B's API knows and Berth's does not. They are an entry of the session's metadata, which the E2B API does not show.
export interface SandboxFacts {
  // False: its web servers need the traffic token.
  publicTraffic: boolean;
  // The Host that its web servers see, with `${PORT}` for their port. Absent: localhost.
  maskHost?: string;
}

const KEY = "berth.e2b";

export const withFacts = (metadata: Record<string, string>, facts: SandboxFacts): Record<string, string> => ({
  ...metadata,
  [KEY]: JSON.stringify(facts),
});

export function splitMetadata({ metadataJson }: Pick<SessionView, "metadataJson">): {
  metadata: Record<string, string>;
  // null: the session was not created through the E2B API.
  facts: SandboxFacts | null;
} {
  const { [KEY]: facts, ...metadata } = JSON.parse(metadataJson) as Record<string, string>;
  return { metadata, facts: parseFacts(facts) };
}

export const isMaskHost = (value: unknown): value is string => typeof value === "string" && /^[A-Za-z0-9.:${}_-]{1,200}$/.test(value);

// The partner may have changed the metadata.
function parseFacts(text: string | undefined): SandboxFacts | null {
  if (text === undefined) return null;
  try {
    const { publicTraffic, maskHost } = JSON.parse(text) as Partial<SandboxFacts>;
    return { publicTraffic: publicTraffic === true, ...(isMaskHost(maskHost) && { maskHost }) };
  } catch {
    return null;
  }
}
