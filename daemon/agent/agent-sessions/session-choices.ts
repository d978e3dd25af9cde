import { methods, type SessionConfigOption } from "@agentclientprotocol/sdk";
import type { AgentChoice, AgentOption } from "@berth/contract/agent.ts";
import { badRequest } from "../../http/errors.ts";
import type { AgentConnection } from "../program/connection.ts";
import type { Thread } from "../thread.ts";

// The choices of a person in an open session of the agent: its mode, its model and its other options. The conversation remembers which of
// them were chosen, because an agent need not remember them.

type Value = string | boolean;

export const isOffered = (choice: AgentChoice | null, id: string): boolean => choice?.available.some((each) => each.id === id) ?? false;

export function hasOption({ live }: Thread, optionId: string, value: Value): boolean {
  const option = live.head.options.find(({ id }) => id === optionId);
  return option?.type === "choice"
    ? isOffered(option, String(value)) && value !== true
    : option !== undefined && typeof value === "boolean";
}

export async function chooseMode(thread: Thread, connection: AgentConnection, modeId: string): Promise<void> {
  const { mode: configId } = thread.options;
  if (configId !== null) await setConfig(thread, connection, configId, modeId);
  else await connection.agent.request(methods.agent.session.setMode, { sessionId: thread.sessionId ?? "", modeId });
  thread.chosen.add("mode");
  const { modes } = thread.live.head;
  if (modes) thread.live.changeHead({ modes: { ...modes, current: modeId } });
}

export async function chooseModel(thread: Thread, connection: AgentConnection, modelId: string): Promise<void> {
  const { model: configId } = thread.options;
  if (configId === null) throw badRequest("The agent offers no models");
  await setConfig(thread, connection, configId, modelId);
  thread.chosen.add("model");
  const { models } = thread.live.head;
  if (models) thread.live.changeHead({ models: { ...models, current: modelId } });
}

export async function chooseOption(thread: Thread, connection: AgentConnection, optionId: string, value: Value): Promise<void> {
  await setConfig(thread, connection, optionId, value);
  thread.chosen.add(keyOf(optionId));
  const options = thread.live.head.options.map((option) => (option.id === optionId ? { ...option, current: value } : option));
  thread.live.changeHead({ options: options as AgentOption[] });
}

export interface Chosen {
  mode: string | undefined;
  model: string | undefined;
  options: [id: string, value: Value][];
}

// To be read before the agent says how the session is now.
export function chosenBefore({ chosen, live: { head } }: Thread): Chosen {
  return {
    mode: chosen.has("mode") ? head.modes?.current : undefined,
    model: chosen.has("model") ? head.models?.current : undefined,
    options: head.options.flatMap(({ id, current }): Chosen["options"] => (chosen.has(keyOf(id)) ? [[id, current]] : [])),
  };
}

// One after the other, because the model may decide which options there are.
export async function chooseAgain(thread: Thread, connection: AgentConnection, { mode, model, options }: Chosen): Promise<void> {
  const { head } = thread.live;
  try {
    if (mode !== undefined && head.modes?.current !== mode && isOffered(head.modes, mode)) await chooseMode(thread, connection, mode);
    if (model !== undefined && head.models?.current !== model && isOffered(head.models, model))
      await chooseModel(thread, connection, model);
    for (const [id, value] of options) {
      const isCurrent = head.options.some((option) => option.id === id && option.current === value);
      if (!isCurrent && hasOption(thread, id, value)) await chooseOption(thread, connection, id, value);
    }
  } catch (error) {
    // The conversation goes on, and shows what the agent has.
    console.error("The agent does not take an earlier choice:", error);
  }
}

// One choice may change the others, which the response says.
async function setConfig(thread: Thread, connection: AgentConnection, configId: string, value: Value): Promise<void> {
  const chosen = typeof value === "boolean" ? ({ type: "boolean", value } as const) : { value };
  const request = { sessionId: thread.sessionId ?? "", configId, ...chosen };
  const response: { configOptions?: SessionConfigOption[] } | null = await connection.agent.request(
    methods.agent.session.setConfigOption,
    request,
  );
  if (Array.isArray(response?.configOptions))
    thread.live.apply({ sessionUpdate: "config_option_update", configOptions: response.configOptions });
}

const keyOf = (optionId: string) => `option ${optionId}`;
