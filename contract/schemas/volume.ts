import Type, { type Static } from "typebox";

// Named disks of a partner that outlive sessions: caches and datasets. Sessions mount them.

export const VOLUME_NAME_PATTERN = "^[a-z0-9][a-z0-9-]{0,62}$";
// Below /mnt, /data or the user's home, and not over the folder in which the sandbox keeps its own state.
export const VOLUME_PATH_PATTERN = "^/(mnt|data|home/user(?!/\\.berth(/|$)))(/(?!\\.{1,2}(/|$))[A-Za-z0-9._@+=-]{1,100}){1,8}$";
export const VOLUME_SIZE_MB = { minimum: 16, maximum: 1_048_576, default: 10_240 } as const;
export const MAX_MOUNTED_VOLUMES = 8;

export const VOLUME_MODES = ["ro", "rw"] as const;
export type VolumeMode = (typeof VOLUME_MODES)[number];

const Name = Type.String({
  pattern: VOLUME_NAME_PATTERN,
  description: "The name, unique among your volumes: lowercase letters, digits and hyphens.",
  examples: ["npm-cache"],
});
const SizeMb = { description: "The most that the volume can hold, in MiB, with its file system." };
const Mode = Type.Enum([...VOLUME_MODES], {
  description: "`ro` to read, or `rw` to read and write. One session at a time may have it `rw`.",
});

export const CreateVolume = Type.Object(
  { name: Name, sizeMb: Type.Optional(Type.Integer({ ...VOLUME_SIZE_MB, ...SizeMb })) },
  { $id: "CreateVolume" },
);
export type CreateVolume = Static<typeof CreateVolume>;

export const Volume = Type.Object(
  {
    volumeId: Type.String({ description: "The volume's identifier. Use it as `{id}` in paths." }),
    name: Name,
    sizeMb: Type.Integer(SizeMb),
    createdAt: Type.String({ format: "date-time", description: "The creation time, in UTC." }),
    usedBy: Type.Array(Type.Object({ sessionId: Type.String(), mode: Mode }), {
      description: "The sessions that mount it, paused ones included. A volume in use cannot be deleted.",
    }),
  },
  { $id: "Volume" },
);
export type Volume = Static<typeof Volume>;

export const VolumeList = Type.Object({ data: Type.Array(Volume, { description: "The volumes, oldest first." }) }, { $id: "VolumeList" });
export type VolumeList = Static<typeof VolumeList>;

export const VolumeMount = Type.Object(
  {
    name: Name,
    path: Type.String({
      pattern: VOLUME_PATH_PATTERN,
      description: "Where the sandbox sees it: a path below `/mnt`, `/data` or `/home/user`.",
      examples: ["/home/user/.npm"],
    }),
    mode: Mode,
  },
  { $id: "VolumeMount" },
);
export type VolumeMount = Static<typeof VolumeMount>;

export const VolumeMounts = Type.Array(VolumeMount, { maxItems: MAX_MOUNTED_VOLUMES, description: "Volumes to mount." });
