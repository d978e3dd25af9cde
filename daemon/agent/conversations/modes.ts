import type { LoadSessionResponse, NewSessionResponse, SessionConfigOption } from "@agentclientprotocol/sdk";
import type { Conversation } from "@berth/contract/agent.ts";

// The modes of an agent, such as ask first, edit freely or plan only. Agents announce them as modes, or as the session
// option with the category "mode".
export type SessionStart = Pick<NewSessionResponse | LoadSessionResponse, "modes" | "configOptions">;

export function modesOf({ modes, configOptions }: SessionStart): Conversation["modes"] {
  if (modes) return { current: modes.currentModeId, available: modes.availableModes.map(describe) };
  const option = modeOptionOf(configOptions);
  if (!option) return null;
  const choices = option.options.flatMap((choice) => ("options" in choice ? choice.options : choice));
  return { current: option.currentValue, available: choices.map(({ value, ...rest }) => describe({ id: value, ...rest })) };
}

export function modeOptionOf(options: SessionConfigOption[] | null | undefined): (SessionConfigOption & { type: "select" }) | undefined {
  return options?.find(
    (option): option is SessionConfigOption & { type: "select" } => option.type === "select" && option.category === "mode",
  );
}

function describe({ id, name, description }: { id: string; name: string; description?: string | null }) {
  return { id, name, ...(description ? { description } : {}) };
}
