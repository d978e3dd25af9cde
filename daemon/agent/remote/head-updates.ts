import type { NewSessionResponse, SessionConfigOption, SessionUpdate } from "@agentclientprotocol/sdk";
import type { AgentChoice, Conversation } from "@berth/contract/agent.ts";

// The choices and commands that a conversation offers besides its items, in the words of the Agent Client Protocol.

// The id under which the models of a conversation are an option.
export const MODEL_OPTION = "berth_model";

export function offersOf(head: Conversation): Pick<NewSessionResponse, "modes" | "configOptions"> {
  return {
    ...(head.modes && { modes: { currentModeId: head.modes.current, availableModes: head.modes.available } }),
    configOptions: configOptionsOf(head),
  };
}

export function configOptionsOf({ models, options }: Conversation): SessionConfigOption[] {
  return [
    ...(models ? [{ id: MODEL_OPTION, name: "Model", category: "model", ...select(models) }] : []),
    ...options.map(({ id, name, description, ...option }): SessionConfigOption => {
      const about = { id, name, ...(description === undefined ? {} : { description }) };
      return option.type === "boolean" ? { ...about, type: "boolean", currentValue: option.current } : { ...about, ...select(option) };
    }),
  ];
}

const select = ({ current, available }: AgentChoice) => ({
  type: "select" as const,
  currentValue: current,
  options: available.map(({ id, name, description }) => ({ value: id, name, ...(description === undefined ? {} : { description }) })),
});

// The updates that lead from the state that a client knows to the next one.
export function headUpdates(known: HeadState, next: HeadState): SessionUpdate[] {
  return (Object.keys(next) as (keyof HeadState)[])
    .filter((part) => known[part] !== next[part])
    .map((part) => JSON.parse(next[part]) as SessionUpdate);
}

// Each part as the JSON of its update, so that it can be compared.
export type HeadState = Record<"title" | "mode" | "options" | "commands" | "usage", string>;

export function headState(head: Conversation): HeadState {
  const { contextUsed, contextSize, cost } = head.usage ?? {};
  const parts: Record<keyof HeadState, SessionUpdate | null> = {
    title: { sessionUpdate: "session_info_update", title: head.title },
    mode: head.modes && { sessionUpdate: "current_mode_update", currentModeId: head.modes.current },
    options: { sessionUpdate: "config_option_update", configOptions: configOptionsOf(head) },
    commands: {
      sessionUpdate: "available_commands_update",
      availableCommands: head.commands.map(({ name, description, hint }) => ({
        name,
        description,
        ...(hint === undefined ? {} : { input: { hint } }),
      })),
    },
    usage:
      contextUsed === undefined || contextSize === undefined
        ? null
        : { sessionUpdate: "usage_update", used: contextUsed, size: contextSize, ...(cost && { cost }) },
  };
  return Object.fromEntries(Object.entries(parts).map(([name, update]) => [name, update ? JSON.stringify(update) : ""])) as HeadState;
}

// A client that has read `offersOf` knows all but these.
export const offeredState = (head: Conversation): HeadState => ({ ...headState(head), title: "", commands: "", usage: "" });
