import { USER, type UserIds } from "./user-ids.ts";

// A part of the map of a user namespace, with the field names of the OCI runtime specification.
export interface MappedIds {
  containerID: number;
  hostID: number;
  size: number;
}

export interface IdMappings {
  uids: readonly MappedIds[];
  gids: readonly MappedIds[];
}

// The user of a sandbox's programs, by its numbers inside.
export interface InsideUser {
  uid: number;
  gid: number;
}

// The number of ids that an image can use.
export const RANGE_SIZE = 0x10000;

export const ROOT_USER: InsideUser = { uid: 0, gid: 0 };

// Only two ids exist inside: root, which no process can become, and the user.
export const pairMappings = ({ inside = USER, ...ids }: UserIds): IdMappings =>
  forBoth({ uid: inside, gid: inside }, (id) => pair(ids, id));

// All ids of an image exist inside. The user has the same id of the host as in other sandboxes, whatever its number is inside, so that
// the files of workspace and home keep their owner. The others are those of the range from `first` on.
export const rangeMappings = (ids: UserIds, first: number, inside: InsideUser): IdMappings =>
  forBoth(inside, (id) => [...range(first, id), { containerID: id, hostID: ids.user, size: 1 }]);

// For the files of workspace and home, where the user has its id of the host on disk, and the others have the numbers that they have
// inside. A copy of these files for another sandbox only has to change the owner of the user's files.
export const diskMappings = (ids: UserIds, first: number, inside: InsideUser): IdMappings =>
  forBoth(inside, (id) => [...range(first, id), { containerID: ids.user, hostID: ids.user, size: 1 }]);

// The ids that a user of the sandbox has on the host.
export const hostIdOf = ({ uids, gids }: IdMappings, { uid, gid }: InsideUser): InsideUser => ({
  uid: hostId(uids, uid),
  gid: hostId(gids, gid),
});

function hostId(ranges: readonly MappedIds[], inside: number): number {
  const found = ranges.find(({ containerID, size }) => inside >= containerID && inside < containerID + size);
  if (!found) throw new Error(`the id ${inside} does not exist in the sandbox`);
  return found.hostID + inside - found.containerID;
}

const forBoth = ({ uid, gid }: InsideUser, map: (id: number) => MappedIds[]): IdMappings => ({ uids: map(uid), gids: map(gid) });

function pair({ root, user }: UserIds, inside: number): MappedIds[] {
  const mapped = { containerID: inside, hostID: user, size: 1 };
  return inside === 0 ? [mapped] : [{ containerID: 0, hostID: root, size: 1 }, mapped];
}

// The range without the id of the user.
const range = (first: number, user: number): MappedIds[] =>
  [
    { containerID: 0, hostID: first, size: user },
    { containerID: user + 1, hostID: first + user + 1, size: RANGE_SIZE - user - 1 },
  ].filter(({ size }) => size > 0);
