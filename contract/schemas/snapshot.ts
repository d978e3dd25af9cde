import Type, { type Static } from "typebox";
import { CreatedSession } from "./session/session.ts";

// Copies of the files of sessions.

export const MAX_SNAPSHOT_NAME = 128;
export const SNAPSHOT_STATUSES = ["creating", "ready"] as const;

const Name = (description: string) => Type.String({ maxLength: MAX_SNAPSHOT_NAME, pattern: "^[^\\u0000]*$", description });

export const CreateSnapshot = Type.Object(
  { name: Type.Optional(Name("A name for people. It need not be unique.")) },
  { $id: "CreateSnapshot" },
);
export type CreateSnapshot = Static<typeof CreateSnapshot>;

export const Snapshot = Type.Object(
  {
    id: Type.String({ description: "The snapshot's identifier.", examples: ["snp_01k9zq3v8g2p7s9x4z6b8dafhk"] }),
    name: Name("Its name; empty if it has none."),
    status: Type.Enum([...SNAPSHOT_STATUSES], { description: "Whether the files are complete." }),
    sessionId: Type.String({ description: "The session that it was taken of. It may have been destroyed since." }),
    template: Type.String({ description: "The template of that session, and of sessions from this snapshot that name none." }),
    bytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: "The space that it occupies; null if that is not known.",
    }),
    createdAt: Type.String({ format: "date-time", description: "When it was taken." }),
  },
  { $id: "Snapshot" },
);
export type Snapshot = Static<typeof Snapshot>;

export const SnapshotList = Type.Object(
  {
    data: Type.Array(Snapshot, { description: "The snapshots, newest first." }),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: "Pass it as `cursor` to get the next page; null on the last page.",
    }),
  },
  { $id: "SnapshotList" },
);
export type SnapshotList = Static<typeof SnapshotList>;

export const DeletedSnapshot = Type.Object({ id: Type.String(), deleted: Type.Literal(true) }, { $id: "DeletedSnapshot" });
export type DeletedSnapshot = Static<typeof DeletedSnapshot>;

// The results of a create with `count`.
export const ForkedSessions = Type.Object(
  {
    sessions: Type.Array(
      Type.Object({
        session: Type.Union([CreatedSession, Type.Null()], { description: "The session; null if it could not be created." }),
        error: Type.Union(
          [
            Type.Object({
              code: Type.String({ description: "The code that `X-Error-Code` has for one session." }),
              message: Type.String({ description: "A message for people." }),
            }),
            Type.Null(),
          ],
          { description: "Why it could not be created; otherwise null." },
        ),
      }),
      { description: "One entry for each session." },
    ),
  },
  { $id: "ForkedSessions" },
);
export type ForkedSessions = Static<typeof ForkedSessions>;
