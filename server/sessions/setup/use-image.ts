import { AppError, isAppError } from "@berth/contract";
import { isBuiltImage } from "../../builds/built-image.ts";
import type { Driver } from "../../drivers/driver.ts";
import { describeError } from "../../faults/describe-error.ts";
import type { Log } from "../../log.ts";
import type { SetupImage } from "../../store/sessions/session-setup.ts";
import type { Templates } from "../../templates.ts";
import { allowsImage } from "../sandbox-spec.ts";
import type { Transitions } from "../states/transitions.ts";
import { FETCH_IMAGE_MS, reasonOf } from "../steps/step-actions.ts";
import type { Steps } from "../steps/steps.ts";
import type { SetupWatchDeps } from "./setup-watch.ts";

export interface UseImageDeps {
  steps: Pick<Steps, "run">;
  transitions: Pick<Transitions, "apply">;
  driver: Pick<Driver, "images">;
  templates: Templates;
  log: Log;
}

// Starts the sandbox of a session again in the image that its repository names. The session is used as before while the image is
// fetched. If anything fails, it keeps its former image, and the row says that the image has failed.
export function createUseImage({ steps, transitions, driver, templates, log }: UseImageDeps): SetupWatchDeps["useImage"] {
  return async (session, name, signal) => {
    const { id: sessionId, setup } = session;
    // The report comes from the sandbox, which may not choose an image that its template does not allow, nor a second one.
    const isSettled = setup.image !== undefined && setup.image.status !== "pending";
    if (!driver.images || isSettled || isBuiltImage(name) || !allowsImage(templates.get(session.template), name))
      throw new AppError("sandbox_unreachable", { cause: new Error(`The sandbox asks for the image ${name.slice(0, 255)}`) });
    const changesTo = (outcome: Omit<SetupImage, "name">) => ({ setup: { ...setup, image: { name, ...outcome } } });
    try {
      await driver.images.fetch?.(name, AbortSignal.any([signal, AbortSignal.timeout(FETCH_IMAGE_MS)]));
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = isAppError(error) ? reasonOf(error) : "The image was not fetched in time";
      log.warn("session.image_failed", { sessionId, image: name, error: describeError(error) });
      await transitions.apply(session, "image_failed", { changes: changesTo({ status: "failed", reason }) });
      return;
    }
    // A failure is in the log and in the row.
    await steps.run(session, "use_image", { changes: changesTo({ status: "pending" }) }).catch(() => {});
  };
}
