import { CONSOLE_VARIABLES } from "./variables/console-variables.ts";
import { DRIVER_VARIABLES } from "./variables/driver-variables.ts";
import { KUBERNETES_VARIABLES } from "./variables/kubernetes-variables.ts";
import { MODEL_VARIABLES } from "./variables/model-variables.ts";
import { NETWORK_VARIABLES } from "./variables/network-variables.ts";
import { SERVER_VARIABLES } from "./variables/server-variables.ts";
import { SESSION_VARIABLES } from "./variables/session-variables.ts";
import { USAGE_VARIABLES } from "./variables/usage-variables.ts";
import { TRACING_VARIABLES } from "./variables/tracing-variables.ts";

// Every setting. To add one, add an entry to one of these tables: the type `Config`, the checks and the values printed at start
// follow from it, and a test compares it with docs/configuration.md.
export const VARIABLES = {
  ...SERVER_VARIABLES,
  ...SESSION_VARIABLES,
  ...DRIVER_VARIABLES,
  ...KUBERNETES_VARIABLES,
  ...NETWORK_VARIABLES,
  ...MODEL_VARIABLES,
  ...USAGE_VARIABLES,
  ...TRACING_VARIABLES,
  ...CONSOLE_VARIABLES,
};
