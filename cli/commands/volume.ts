import { Command } from "commander";
import { VOLUME_NAME_PATTERN, VOLUME_SIZE_MB } from "@berth/contract";
import { getPartner } from "@berth/server/keys/partners.ts";
import { beginRemoval, createVolume, viewVolumes, type VolumeView } from "@berth/server/sessions/volumes/volume-changes.ts";
import { allVolumes, volumesOf } from "@berth/server/store/volumes/volumes.ts";
import { parseVolumeSize } from "../arguments.ts";
import { withStore } from "../context.ts";
import { isoOf, orDash, relative, show, table } from "../terminal/output.ts";

interface Options {
  json?: boolean;
  partner?: string;
  sizeMb?: number;
}

export const command = build();

function build(): Command {
  const group = new Command();
  group
    .command("list")
    .description("list volumes and the sessions that mount them")
    .option("--partner <id>", "only volumes of this partner")
    .option("--json", "print JSON")
    .action(list);
  group
    .command("create <partner>")
    .description("create an empty volume for a partner")
    .argument("<name>", "lowercase letters, digits and hyphens")
    .option("--size-mb <n>", `its size in MiB (default: ${VOLUME_SIZE_MB.default})`, parseVolumeSize)
    .option("--json", "print JSON")
    .action(create);
  group
    .command("delete")
    .description("delete a volume and its files")
    .argument("<id>", "id of the volume, as `berth volume list` shows it")
    .option("--json", "print JSON")
    .action(remove);
  return group;
}

async function list(options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const { partner } = options;
    if (partner !== undefined) await getPartner(store.db, partner);
    const volumes = await viewVolumes(store.db, partner === undefined ? await allVolumes(store.db) : await volumesOf(store.db, partner));
    show(options, volumes.map(volumeJson), () =>
      table(
        volumes,
        [
          { name: "volume", value: ({ id }) => id },
          { name: "partner", value: ({ partnerId }) => partnerId },
          { name: "name", value: ({ name }) => name },
          { name: "size", value: ({ sizeMb }) => `${sizeMb} MiB` },
          { name: "used by", value: usersText },
          { name: "created", value: ({ createdAtMs }) => relative(createdAtMs) },
        ],
        "No volumes.",
      ),
    );
  });
}

async function create(partnerId: string, name: string, options: Options): Promise<void> {
  if (!new RegExp(VOLUME_NAME_PATTERN).test(name))
    throw new Error(`The name "${name}" must be lowercase letters, digits and hyphens, at most 63.`);
  const { sizeMb = VOLUME_SIZE_MB.default } = options;
  await withStore(async ({ store, change, clock, config }) => {
    await getPartner(store.db, partnerId);
    const limits = { volumes: config.maxVolumes, volumesMb: config.maxVolumesGb * 1024 };
    const volume = await change(async (tx, note) => {
      const created = await createVolume(tx, { partnerId, volume: { name, sizeMb }, limits, nowMs: clock.now() });
      await note("volume.create", partnerId, created.id);
      return created;
    });
    show(options, volumeJson(volume), () => `The volume ${volume.name} (${volume.id}) of ${partnerId} is created.\n`);
  });
}

async function remove(id: string, options: Options): Promise<void> {
  await withStore(async ({ store, change }) => {
    const found = (await allVolumes(store.db)).find((volume) => volume.id === id);
    if (!found) throw new Error(`There is no volume ${id}. \`berth volume list\` shows them.`);
    const volume = await change(async (tx, note) => {
      const [view] = await viewVolumes(tx, [found]);
      await beginRemoval(tx, view!);
      await note("volume.delete", found.partnerId, id);
      return view!;
    });
    show(
      options,
      volumeJson(volume),
      () => `The volume ${volume.name} of ${volume.partnerId} is deleted. A running server removes its files within ten seconds.\n`,
    );
  });
}

const usersText = ({ usedBy }: VolumeView): string =>
  orDash(usedBy.map(({ sessionId, mode }) => `${sessionId} (${mode})`).join(", ") || null);

const volumeJson = ({ id, partnerId, name, sizeMb, createdAtMs, site, usedBy }: VolumeView) => ({
  volumeId: id,
  partnerId,
  name,
  sizeMb,
  driver: site?.driver ?? null,
  host: site?.host ?? null,
  createdAt: isoOf(createdAtMs),
  usedBy,
});
