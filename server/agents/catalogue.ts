import type { AgentSpec } from "@berth/contract";

// The coding agents that Berth can configure. A template names one of them, and this table supplies what the template leaves out. Any
// other program that speaks the Agent Client Protocol works too, if the template describes it completely.
export type KnownAgent = "goose" | "opencode";

export const KNOWN_AGENTS: Readonly<Record<KnownAgent, AgentSpec>> = {
  goose: {
    command: "goose",
    args: ["acp", "--with-builtin", "developer"],
    // Sandboxes have no keyring, and their users have not agreed to telemetry.
    env: { GOOSE_DISABLE_KEYRING: "1", GOOSE_TELEMETRY_OFF: "1", GOOSE_TELEMETRY_ENABLED: "false" },
    requiredEnv: ["GOOSE_PROVIDER", "GOOSE_MODEL"],
    // In the second one it uses no tools.
    askingModes: ["approve", "chat"],
  },
  opencode: {
    command: "opencode",
    args: ["acp"],
    env: {
      // Otherwise it contacts hosts when it starts, and waits for them if there is no network.
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      // These plugins offer sign-ins to hosted services.
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      // The file finder of its terminal interface. Each start would leave a library of 5.6 MB in /tmp, which is memory.
      OPENCODE_DISABLE_FFF: "1",
      // File watches for the terminal interface. They consume a limit that all sandboxes of a machine share.
      OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER: "true",
      // The last compiler of its runtime. Until the first conversation, 5.1 instead of 5.7 s of processor time without it.
      BUN_JSC_useFTLJIT: "0",
    },
    // Without these settings it would send code to a hosted model. settings.ts creates them.
    requiredEnv: ["OPENCODE_CONFIG_CONTENT"],
  },
};

// The agent in a template file: a command, or a part of an agent's description.
export type GivenAgent = string | (Partial<AgentSpec> & Pick<AgentSpec, "command">);

export function completeAgent(given: GivenAgent): AgentSpec {
  const { command, env, ...own } = typeof given === "string" ? { command: given } : given;
  const name = knownAgent(command);
  const known = name === undefined ? { args: [], env: {}, requiredEnv: [] } : KNOWN_AGENTS[name];
  return { ...known, ...own, command, env: { ...known.env, ...env } };
}

// Compares only the name of the program, not its folder.
export function knownAgent(command: string): KnownAgent | undefined {
  const name = programName(command);
  return (Object.keys(KNOWN_AGENTS) as KnownAgent[]).find((known) => known === name);
}

export const programName = (command: string): string => command.slice(command.lastIndexOf("/") + 1);
