import type { FastifyRequest } from "fastify";
import type { ConsolePartnerDetail } from "@berth/contract/console.ts";
import type { Clock } from "../../../clock.ts";
import { getPartner, updatePartner, type Partner, type PartnerChanges } from "../../../keys/partners.ts";
import { countLive } from "../../../store/sessions/listing/count.ts";
import type { Store } from "../../../store/open.ts";
import { appendAudit } from "../../../store/partners/audit.ts";
import { lockPartner } from "../../../store/partners/partners.ts";
import type { Access } from "../access/access.ts";
import type { ConsoleRoute } from "../console-api.ts";
import { requirePartner, toConsolePartner } from "./partner-routes.ts";
import { parseAppearance, parseLimits, parseSupport, requireVersion, versionOf } from "./partner-settings.ts";

export interface PartnerChangeDeps {
  store: Store;
  clock: Clock;
  // Called when a partner has changed, so that cached keys are read again.
  forgetKeys(): void;
}

// One partner with its settings, and the forms that change them.
export function partnerChangeRoutes({ store, clock, forgetKeys }: PartnerChangeDeps): ConsoleRoute[] {
  async function save(
    access: Access,
    request: FastifyRequest,
    toChanges: (before: Partner) => PartnerChanges,
  ): Promise<ConsolePartnerDetail> {
    const partnerId = requirePartner(access);
    await store.transaction(async (tx) => {
      await lockPartner(tx, partnerId);
      const before = await getPartner(tx, partnerId);
      requireVersion(request, before);
      const after = await updatePartner(tx, partnerId, toChanges(before));
      await appendAudit(tx, access.auditEntry(actionOf(before, after), partnerId, partnerId), clock.now());
    });
    forgetKeys();
    return read(partnerId);
  }

  const read = async (partnerId: string): Promise<ConsolePartnerDetail> =>
    toPartnerDetail(await getPartner(store.db, partnerId), await countLive(store.db, { partnerId }));

  return [
    { method: "GET", path: "/partner", handle: (access) => read(requirePartner(access)) },
    {
      method: "POST",
      path: "/partner/limits",
      operatorOnly: true,
      handle(access, request) {
        const changes = parseLimits(request);
        return save(access, request, () => changes);
      },
    },
    {
      method: "POST",
      path: "/partner/support",
      partnerOnly: true,
      handle(access, request) {
        const changes = parseSupport(request);
        return save(access, request, () => changes);
      },
    },
    { method: "POST", path: "/partner/appearance", handle: (access, request) => save(access, request, parseAppearance(request)) },
  ];
}

function actionOf(before: Partner, after: Partner): string {
  if (before.supportAccess !== after.supportAccess) return after.supportAccess ? "partner.allow_support" : "partner.forbid_support";
  if (before.state === after.state) return "partner.update";
  return after.state === "suspended" ? "partner.suspend" : "partner.activate";
}

const toPartnerDetail = (partner: Partner, live: number): ConsolePartnerDetail => ({
  ...toConsolePartner({ ...partner, live }),
  branding: partner.branding,
  idleTimeoutMs: partner.idleTimeoutMs,
  maxTimeoutMs: partner.maxTimeoutMs,
  autoResume: partner.autoResume,
  onTimeout: partner.onTimeout,
  supportAccess: partner.supportAccess,
  version: versionOf(partner),
});
