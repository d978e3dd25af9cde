import type { AgentSpec } from "@berth/contract";

// The coding agents that Berth configures by itself: a template names one, and what it does not say comes from here. Any
// other program that speaks the Agent Client Protocol works too; then the template says everything.
export type KnownAgent = "goose" | "opencode";

export const KNOWN_AGENTS: Readonly<Record<KnownAgent, AgentSpec>> = {
  goose: {
    command: "goose",
    args: ["acp", "--with-builtin", "developer"],
    // There is no keyring in a sandbox, and its user has not agreed to telemetry.
    env: { GOOSE_DISABLE_KEYRING: "1", GOOSE_TELEMETRY_OFF: "1", GOOSE_TELEMETRY_ENABLED: "false" },
    requiredEnv: ["GOOSE_PROVIDER", "GOOSE_MODEL"],
  },
  opencode: {
    command: "opencode",
    args: ["acp"],
    env: {
      // Without these it looks up hosts at its start, and waits for them where there is no network.
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      // They offer sign-ins to hosted services.
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      // The file finder of its own terminal page: each start would leave a library of 5.6 MB in /tmp, which is memory.
      OPENCODE_DISABLE_FFF: "1",
      // File watches for the same page: they count against a limit that all sandboxes of a machine share.
      OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER: "true",
    },
    // Without these settings it sends code to a hosted model. `settings.ts` makes them.
    requiredEnv: ["OPENCODE_CONFIG_CONTENT"],
  },
};

// The agent of a template file: a command, or a part of what describes an agent.
export type GivenAgent = string | (Partial<AgentSpec> & Pick<AgentSpec, "command">);

export function completeAgent(given: GivenAgent): AgentSpec {
  const { command, args, env, requiredEnv } = typeof given === "string" ? { command: given } : given;
  const name = knownAgent(command);
  const known = name === undefined ? { args: [], env: {}, requiredEnv: [] } : KNOWN_AGENTS[name];
  return { command, args: args ?? known.args, env: { ...known.env, ...env }, requiredEnv: requiredEnv ?? known.requiredEnv };
}

// By the program's name, wherever it lies.
export function knownAgent(command: string): KnownAgent | undefined {
  const name = programName(command);
  return (Object.keys(KNOWN_AGENTS) as KnownAgent[]).find((known) => known === name);
}

export const programName = (command: string): string => command.slice(command.lastIndexOf("/") + 1);
