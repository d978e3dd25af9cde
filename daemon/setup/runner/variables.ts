import { basename } from "node:path";

// Replaces the variables of devcontainer.json. null: it contains one that has no value here, or it is not a string.
export function substitute(value: unknown, root: string, env: NodeJS.ProcessEnv = process.env): string | null {
  if (typeof value !== "string") return null;
  let isWhole = true;
  const text = value.replaceAll(/\$\{([^}]*)\}/g, (_, expression: string) => {
    const found = valueOf(expression, root, env);
    if (found === null) isWhole = false;
    return found ?? "";
  });
  return isWhole && !text.includes("\0") && !text.includes("${") ? text : null;
}

// There is no local machine besides the sandbox, so its variables have only their defaults.
function valueOf(expression: string, root: string, env: NodeJS.ProcessEnv): string | null {
  const [kind, name = "", ...fallback] = expression.split(":");
  switch (kind) {
    case "containerWorkspaceFolder":
    case "localWorkspaceFolder":
      return root;
    case "containerWorkspaceFolderBasename":
    case "localWorkspaceFolderBasename":
      return basename(root);
    case "containerEnv":
      return (name.startsWith("BERTH_") ? undefined : env[name]) ?? (fallback.length > 0 ? fallback.join(":") : "");
    case "localEnv":
    case "env":
      return fallback.length > 0 ? fallback.join(":") : null;
    default:
      return null;
  }
}
