import type { AvailableCommand, LoadSessionResponse, NewSessionResponse, SessionConfigOption } from "@agentclientprotocol/sdk";
import { plainLine } from "./plain-text.ts";
import type { AgentChoice, AgentOption, SlashCommand } from "@berth/contract/agent.ts";

// The modes, models and other options that an agent offers in a session. Modes, such as ask first, edit freely or plan only, are announced
// as modes or as the session option with the category "mode". Models are a session option too.
export type SessionStart = Pick<NewSessionResponse | LoadSessionResponse, "modes" | "configOptions">;
type SelectOption = SessionConfigOption & { type: "select" };

const MAX_CHOICES = 200;
const MAX_COMMANDS = 200;
const MAX_OPTIONS = 50;
const MAX_NAME = 200;
const MAX_DESCRIPTION = 300;

export function modesOf({ modes, configOptions }: SessionStart): AgentChoice | null {
  if (modes) return { current: modes.currentModeId, available: modes.availableModes.slice(0, MAX_CHOICES).map(describe) };
  return choiceOf(optionOf(configOptions, "mode"));
}

export const modelsOf = ({ configOptions }: SessionStart): AgentChoice | null => choiceOf(optionOf(configOptions, "model"));

export function optionOf(options: SessionConfigOption[] | null | undefined, category: "mode" | "model"): SelectOption | undefined {
  return options?.find((option): option is SelectOption => option.type === "select" && option.category === category);
}

// All options but the modes and the models, which are shown elsewhere. Without models the server decides about the model.
export function optionsOf(options: SessionConfigOption[] | null | undefined, models: AgentChoice | null): AgentOption[] {
  if (!Array.isArray(options)) return [];
  const model = optionOf(options, "model");
  const shown = options.filter(
    (option) => option.category !== "mode" && option !== model && (models !== null || option.category !== "model"),
  );
  return shown.slice(0, MAX_OPTIONS).flatMap((option): AgentOption[] => {
    const about = describe(option);
    if (option.type === "boolean") return [{ ...about, type: "boolean", current: option.currentValue === true }];
    const choice = option.type === "select" ? choiceOf(option) : null;
    return choice ? [{ ...about, type: "choice", ...choice }] : [];
  });
}

export function commandsOf(commands: AvailableCommand[]): SlashCommand[] {
  return commands.slice(0, MAX_COMMANDS).map(({ name, description, input }) => {
    const hint = input && "hint" in input && typeof input.hint === "string" ? input.hint : "";
    return { name: name.replace(/^\//, ""), description: shorten(description), ...(hint ? { hint: shorten(hint) } : {}) };
  });
}

function choiceOf(option: SelectOption | undefined): AgentChoice | null {
  if (!option) return null;
  const choices = option.options.flatMap((choice) => ("options" in choice ? choice.options : choice)).slice(0, MAX_CHOICES);
  return { current: option.currentValue, available: choices.map(({ value, ...rest }) => describe({ id: value, ...rest })) };
}

function describe({ id, name, description }: { id: string; name: string; description?: string | null }) {
  return { id, name: plainLine(name, MAX_NAME) || id, ...(description ? { description: shorten(description) } : {}) };
}

const shorten = (text: string) => (text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION)}…` : text);
