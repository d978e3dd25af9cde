import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import type { Changes } from "../changes.ts";
import { createStartRequests, type StartRequestsDeps } from "../steps/start-requests.ts";
import { hasGitRelay } from "./new-setup.ts";
import { openRelays } from "../relays/session-relays.ts";
import { noBuilds, type ImageBuilds } from "../../builds/image-builds.ts";
import { createBuildImage } from "./build-image.ts";
import { createUseImage, type UseImageDeps } from "./use-image.ts";
import { createSetupLink } from "./setup-link.ts";
import { createSetupWatch, type SetupWatch, type SetupWatchDeps } from "./setup-watch.ts";

export interface FollowSetupsDeps
  extends StartRequestsDeps, UseImageDeps, Pick<SetupWatchDeps, "store" | "transitions" | "site" | "clock" | "log"> {
  links: Pick<DaemonLinks, "request" | "start">;
  changes: Changes;
  // Absent: this server builds no images.
  builds?: ImageBuilds | undefined;
}

const NO_BUILDS = "this server cannot build images.";

// A watch that also follows every setup which begins on this server, without waiting for the next tick.
export function followSetups(deps: FollowSetupsDeps): SetupWatch {
  const { links, changes, secrets, builds = noBuilds(NO_BUILDS) } = deps;
  const link = createSetupLink(links);
  const { startRequest } = createStartRequests(deps);
  const watch = createSetupWatch({
    ...deps,
    link,
    startAgent: async (session) => void (await links.start(session.sandboxId, startRequest(session))),
    useImage: createUseImage(deps),
    buildImage: createBuildImage({ ...deps, link, builds }),
    buildsRefusal: builds.refusal,
    hasImages: deps.driver.images !== undefined,
    hasGitCredential: ({ sealedRelays, sandboxId }) => hasGitRelay(openRelays(secrets, sealedRelays, sandboxId)),
  });
  const listener = changes.listen((session) => {
    if (session.status === "running" && session.setup?.status === "pending") watch.follow(session);
  });
  return {
    ...watch,
    async [Symbol.asyncDispose]() {
      listener[Symbol.dispose]();
      await watch[Symbol.asyncDispose]();
    },
  };
}
