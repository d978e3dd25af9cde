import type { ConsoleSession } from "@berth/contract/console.ts";

// The state of a session in words, with a mark whose colour repeats it.
export function Status({ session }: { session: Pick<ConsoleSession, "status" | "state" | "isHibernated"> }) {
  return <Mark tint={tintOf(session.status)}>{textOf(session)}</Mark>;
}

export type Tint = "good" | "warn" | "bad" | "none";

export const Mark = ({ tint, children }: { tint: Tint; children: string }) => (
  <span className="status" data-tint={tint}>
    {children}
  </span>
);

const tintOf = (status: ConsoleSession["status"]): Tint => (status === "running" ? "good" : status === "paused" ? "warn" : "none");

function textOf({ status, state, isHibernated }: Pick<ConsoleSession, "status" | "state" | "isHibernated">): string {
  if (status === "paused" && isHibernated && state === "paused") return "hibernated";
  return state;
}
