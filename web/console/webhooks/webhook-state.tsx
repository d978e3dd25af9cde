import type { ConsoleWebhook } from "@berth/contract/console.ts";
import { relative } from "../parts/format.ts";
import { Mark, type Tint } from "../parts/status.tsx";

export const lagOf = (dueSince: string | null): string => (dueSince === null ? "none" : `since ${relative(dueSince)}`);

export function WebhookState({ webhook: { state, disabledReason, failingSince } }: { webhook: ConsoleWebhook }) {
  const [tint, text]: [Tint, string] =
    state === "disabled"
      ? ["none", `disabled (${disabledReason ?? "api"})`]
      : failingSince === null
        ? ["good", "enabled"]
        : ["bad", `failing since ${relative(failingSince)}`];
  return <Mark tint={tint}>{text}</Mark>;
}
