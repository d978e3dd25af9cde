import type { MachineDisk } from "../../disk-space.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { Templates } from "../../templates.ts";
import type { Placement } from "../pool/placement.ts";
import { kindOfCreate } from "../sandbox-spec.ts";
import { outcomeOfError, secondsSince, type SessionObserver } from "../session-observer.ts";
import type { Sessions } from "../sessions.ts";
import { visible } from "../find-session.ts";

export interface CreateCallDeps {
  driver: Pick<Driver, "name" | "traits" | "volumes">;
  templates: Templates;
  placement: Placement;
  observer: Pick<SessionObserver, "called">;
  disk: Pick<MachineDisk, "admitNew">;
}

export function createCreateCall({ driver, templates, placement, observer, disk }: CreateCallDeps): Sessions["create"] {
  return async (partner, request, { record, span } = {}) => {
    const kind = kindOfCreate(templates, driver, request);
    const startedMs = performance.now();
    try {
      disk.admitNew();
      const { session, start } = await placement.place({ kind, partner, request, record, span });
      observer.called({ operation: "create", start, outcome: "ok", seconds: secondsSince(startedMs) });
      return visible(session);
    } catch (error) {
      observer.called({ operation: "create", start: "none", outcome: outcomeOfError(error), seconds: secondsSince(startedMs) });
      throw error;
    }
  };
}
