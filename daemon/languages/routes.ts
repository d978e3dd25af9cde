import type { UpgradeRoute } from "../http/route.ts";
import { acceptSocket } from "../http/sockets.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import type { Languages, LanguagesDeps } from "./languages.ts";

export interface LanguageRoutes {
  upgrades: UpgradeRoute[];
  programs(): StartedProgram[];
  // Ends all language servers.
  stop(): void;
}

// The part that runs language servers is loaded with the first of them.
export function createLanguageRoutes(deps: LanguagesDeps): LanguageRoutes {
  let loaded: Languages | null = null;
  let loading: Promise<Languages> | null = null;
  const load = () => (loading ??= import("./languages.ts").then(({ createLanguages }) => (loaded = createLanguages(deps))));

  return {
    programs: () => loaded?.programs() ?? [],
    stop: () => loaded?.stop(),
    upgrades: [
      {
        path: "/languages/:language",
        async upgrade(call) {
          const languages = await load();
          acceptSocket(call, (socket) => languages.attach(socket, call.params.language ?? ""));
        },
      },
    ],
  };
}
