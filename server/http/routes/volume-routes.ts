import type { FastifyInstance, FastifyRequest } from "fastify";
import { CreateVolume, type Volume, type VolumeList } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { VolumeView } from "../../sessions/volumes/volume-changes.ts";
import type { RecordVolume, Volumes } from "../../sessions/volumes/volumes.ts";
import { appendAudit } from "../../store/partners/audit.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import type { Idempotency, Result, Save } from "../requests/idempotency.ts";
import { parseRequiredBody } from "../requests/request-body.ts";
import { addRoute } from "../requests/route.ts";
import { compileFaultFinder } from "../requests/schema-faults.ts";
import { auditEntry, idOf, partnerIdOf } from "./route-context.ts";

export interface VolumeRouteDeps {
  volumes: Volumes;
  idempotency: Idempotency;
  clock: Clock;
}

const findCreateFaults = compileFaultFinder(CreateVolume);

export function addVolumeRoutes(app: FastifyInstance, { volumes, idempotency: { runOnce }, clock }: VolumeRouteDeps): void {
  const record =
    (request: FastifyRequest, action: string, save?: Save): RecordVolume =>
    async (tx, volume) => {
      await appendAudit(tx, auditEntry(request, action, volume.id), clock.now());
      await save?.(tx, toCreated(volume));
    };

  addRoute(app, "createVolume", (request, reply) =>
    runOnce(request, reply, async (save) => {
      const body = parseRequiredBody(request, CreateVolume);
      requireNoFaults(findCreateFaults(body));
      return toCreated(await volumes.create(partnerIdOf(request), body as CreateVolume, record(request, "volume.create", save)));
    }),
  );

  addRoute(app, "listVolumes", async (request): Promise<VolumeList> => ({
    data: (await volumes.list(partnerIdOf(request))).map(toVolume),
  }));

  addRoute(app, "getVolume", async (request) => toVolume(await volumes.get(partnerIdOf(request), idOf(request))));

  addRoute(app, "deleteVolume", async (request) =>
    toVolume(await volumes.remove(partnerIdOf(request), idOf(request), record(request, "volume.delete"))),
  );
}

const toCreated = (volume: VolumeView): Result => ({ status: 201, body: toVolume(volume) });

const toVolume = ({ id, name, sizeMb, createdAtMs, usedBy }: VolumeView): Volume => ({
  volumeId: id,
  name,
  sizeMb,
  createdAt: new Date(createdAtMs).toISOString(),
  usedBy,
});
