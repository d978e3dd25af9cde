import { AppError } from "@berth/contract";
import type { ImageBuilds } from "../../builds/image-builds.ts";
import { BuildFailure } from "../../builds/build-sandboxes.ts";
import { allowsBuilds, templateOf } from "../sandbox-spec.ts";
import type { Changes } from "../changes.ts";
import type { SetupImage } from "../../store/sessions/session-setup.ts";
import type { SetupLink } from "./setup-link.ts";
import { sendBuildNews } from "./build-news.ts";
import type { SetupWatchDeps } from "./setup-watch.ts";
import type { UseImageDeps } from "./use-image.ts";

export interface BuildImageDeps extends UseImageDeps {
  builds: ImageBuilds;
  link: SetupLink;
  changes: Pick<Changes, "listen">;
}

// The row of a failed build needs a name for its image.
const NAMELESS = "build";

// Builds the image that a session's repository describes, and starts the session's sandbox again in it. The session is used as before
// while the image is built, and may be paused. If the build fails, the session goes on as it is.
export function createBuildImage({ builds, link, changes, steps, transitions, templates }: BuildImageDeps): SetupWatchDeps["buildImage"] {
  return async (session, current, closing) => {
    const { id: sessionId, sandboxId, partnerId, setup } = session;
    if (setup.image?.status === "failed") return await link.sendBuildNews(sandboxId, lastNews(setup.image.reason), closing);
    // The report comes from the sandbox.
    if (setup.image?.status === "used" || !allowsBuilds(templates.get(session.template)) || builds.refusal !== null)
      throw new AppError("sandbox_unreachable", { cause: new Error("The sandbox asks for a build that it may not have") });
    const gone = new AbortController();
    using _ = changes.listen(({ id, status }) => {
      if (id === sessionId && status === "destroyed") gone.abort(new Error("the session has ended"));
    });
    const signal = AbortSignal.any([closing, gone.signal]);
    await using news = sendBuildNews(link, sandboxId, signal);
    const open = (opening: AbortSignal) => link.openBuild(sandboxId, opening);
    let image: SetupImage;
    try {
      const template = templateOf(templates, session);
      image = { name: await builds.build({ partnerId, template, open }, { onOutput: news.add, signal }), status: "pending" };
    } catch (error) {
      if (!(error instanceof BuildFailure)) throw error;
      image = { name: NAMELESS, status: "failed", reason: error.message };
    }
    // Calls may have changed the session in the meantime. If it does not run now, the image is used when it runs again.
    const now = await current();
    if (!now || now.setup.attempt !== setup.attempt) return;
    const applied = { changes: { setup: { ...now.setup, image } } };
    if (image.status === "pending") {
      // A failure is in the log and in the row.
      await steps.run(now, "use_image", applied).catch(() => {});
      return;
    }
    await transitions.apply(now, "image_failed", applied);
    await news.end(image.reason!);
  };
}

// The log is in the terminal already.
const lastNews = (reason = "The image could not be built.") => ({ from: 0, text: "", failed: reason });
