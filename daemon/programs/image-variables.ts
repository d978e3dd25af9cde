import { isStringRecord } from "../http/body.ts";

// The variables of the sandbox's image (`ENV`). Everything else overrides them. Some of them, such as NODE_OPTIONS, would change the daemon.
// On oci the driver sends them apart from the daemon's own. Other engines start process 1 with them, and init.sh removes that one.
export function imageVariables(base: NodeJS.ProcessEnv): Record<string, string> {
  const env: unknown = base.BERTH_IMAGE_ENV === undefined ? withoutOwn(base) : JSON.parse(base.BERTH_IMAGE_ENV);
  return isStringRecord(env) ? env : {};
}

function withoutOwn(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { BERTH_NODE_OPTIONS: options } = base;
  const others = Object.entries(base).filter(([name]) => !OF_THE_DAEMON.test(name));
  return { ...Object.fromEntries(others), ...(options !== undefined && { NODE_OPTIONS: options }) };
}

// The settings of the daemon, the variables that drivers clear for it, and those of the engine and of the shell that starts it. Where the
// daemon is a plain process, TMPDIR is its own.
const OF_THE_DAEMON = /^(BERTH_.*|KUBERNETES_.*|HOSTNAME|TMPDIR|LD_LIBRARY_PATH|LD_PRELOAD|PWD|OLDPWD|SHLVL|_)$/;
