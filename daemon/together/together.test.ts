import { once } from "node:events";
import { expect, test } from "vitest";
import type { Person, TogetherFromClient, TogetherFromDaemon } from "@berth/contract/workspace/together.ts";
import { NAME_HEADER, ROLE_HEADER } from "@berth/contract/workspace/visitor.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

const path = "a.txt";

test("people are listed with their names, roles and places, until they leave", async () => {
  await using daemon = await startTestDaemon();
  const ada = await join(daemon, { [NAME_HEADER]: encodeURIComponent("Ada 🚢") });
  const guest = await join(daemon, { [ROLE_HEADER]: "viewer", [NAME_HEADER]: "%zz" });
  guest.send({ type: "place", place: { path, selection: { anchor: 1, head: 3 } } });
  await expect.poll(() => ada.people()).toHaveLength(2);
  await expect
    .poll(() => ada.people())
    .toMatchObject([
      { name: "Ada 🚢", role: "editor", colour: 0, place: null },
      { name: "Guest", role: "viewer", colour: 1, place: { path, selection: { anchor: 1, head: 3 } } },
    ]);
  guest.send({ type: "place", place: { path: 7, selection: "x" } as never });
  await expect.poll(() => ada.people()[1]?.place).toBeNull();
  await guest.leave();
  await expect.poll(() => ada.people()).toHaveLength(1);
  await ada.leave();
});

test("a viewer with many pages and messages costs the others little", async () => {
  await using daemon = await startTestDaemon();
  const ada = await join(daemon);
  const headers = { [ROLE_HEADER]: "viewer", [NAME_HEADER]: "Eve" };
  const pages = await Promise.all(Array.from({ length: 100 }, () => join(daemon, headers)));
  await expect.poll(() => pages.filter(({ socket }) => socket.readyState === socket.CLOSED)).toHaveLength(84);
  // Another viewer is not affected.
  const bob = await join(daemon, { [ROLE_HEADER]: "viewer", [NAME_HEADER]: "Bob" });
  await expect.poll(() => ada.people().map(({ name }) => name)).toContain("Bob");
  const open = pages.filter(({ socket }) => socket.readyState === socket.OPEN);
  expect(open).toHaveLength(16);
  const before = ada.received.length;
  const long = "x".repeat(4000);
  for (let anchor = 0; anchor < 200; anchor++)
    for (const page of open) page.send({ type: "place", place: { path: long, selection: { anchor, head: 0 } } });
  bob.send({ type: "place", place: { path: "bob.txt", selection: null } });
  await expect.poll(() => ada.people().find(({ name }) => name === "Bob")?.place).toMatchObject({ path: "bob.txt" });
  // 3,200 messages were sent. The daemon reads the first 200 or so at once, and passes on the last place of each page.
  const news = ada.received.slice(before);
  expect(JSON.stringify(news).length).toBeLessThan(1_000_000);
  expect(news.filter(({ type }) => type === "people")).toEqual([]);
  for (const page of [...open, bob, ada]) page.socket.terminate();
});

test("a text is shared from its second reader on, and a page that lost its connection gets only what it lacks", async () => {
  await using daemon = await startTestDaemon();
  const [ada, bob] = [await join(daemon), await join(daemon)];
  ada.send({ type: "open", path });
  await ada.isRead();
  bob.send({ type: "open", path });
  await ada.gets({ type: "give", path });
  ada.send({ type: "text", path, text: "abc" });
  const shared = await bob.gets({ type: "shared", version: 0, text: "abc" });
  const epoch = "epoch" in shared ? shared.epoch : "";
  await ada.gets({ type: "shared", version: 0, epoch });

  const updates = [{ clientId: "ada", changes: [3, [0, "d"]] as [number, [number, string]] }];
  ada.send({ type: "push", path, epoch, version: 0, updates });
  await bob.gets({ type: "updates", version: 0, updates });
  // Late: it gets the updates that it lacks.
  bob.send({ type: "push", path, epoch, version: 0, updates: [{ clientId: "bob", changes: [[0, "x"], 3] }] });
  await bob.gets({ type: "shared", version: 0, updates });
  await bob.leave();

  const again = await join(daemon);
  again.send({ type: "open", path, known: { epoch, version: 0 } });
  await again.gets({ type: "shared", version: 0, updates });
  const late = await join(daemon);
  late.send({ type: "open", path, known: { epoch: "older", version: 9 } });
  await late.gets({ type: "shared", version: 1, text: "abcd" });

  // One page turns a version on disk into a change.
  again.send({ type: "claim", path, etag: '"1"' });
  await again.gets({ type: "claimed", etag: '"1"' });
  late.send({ type: "claim", path, etag: '"1"' });
  late.send({ type: "claim", path, etag: '"2"' });
  await late.gets({ type: "claimed", etag: '"2"' });
  expect(late.received.filter(({ type }) => type === "claimed")).toHaveLength(1);

  // A change that does not fit ends the sharing for everyone.
  late.send({ type: "push", path, epoch, version: 1, updates: [{ clientId: "late", changes: [99] }] });
  await ada.gets({ type: "unshared", path });
  for (const page of [ada, again, late]) await page.leave();
});

test("a viewer follows a shared text, and neither gives nor changes nor claims one", async () => {
  await using daemon = await startTestDaemon();
  const viewer = await join(daemon, { [ROLE_HEADER]: "viewer" });
  viewer.send({ type: "open", path });
  await viewer.isRead();
  const ada = await join(daemon);
  ada.send({ type: "open", path });
  // The viewer came first, but only an editor is asked.
  await ada.gets({ type: "give", path });
  viewer.send({ type: "text", path, text: "forged" });
  await viewer.isRead();
  ada.send({ type: "text", path, text: "abc" });
  const shared = await viewer.gets({ type: "shared", version: 0, text: "abc" });
  const epoch = "epoch" in shared ? shared.epoch : "";
  viewer.send({ type: "push", path, epoch, version: 0, updates: [{ clientId: "v", changes: [[3, "gone"]] }] });
  viewer.send({ type: "claim", path, etag: '"1"' });
  await viewer.isRead();
  const updates = [{ clientId: "ada", changes: [3, [0, "d"]] as [number, [number, string]] }];
  ada.send({ type: "push", path, epoch, version: 0, updates });
  await viewer.gets({ type: "updates", version: 0, updates });
  expect(viewer.received.some(({ type }) => type === "claimed" || type === "give")).toBe(false);
  await viewer.leave();
  await ada.leave();
});

async function join(daemon: TestDaemon, headers: Record<string, string> = {}) {
  const socket = daemon.connect("/together", headers);
  const received: TogetherFromDaemon[] = [];
  socket.on("message", (data: Buffer) => received.push(JSON.parse(String(data)) as TogetherFromDaemon));
  await once(socket, "open");
  return {
    socket,
    received,
    send: (message: TogetherFromClient) => socket.send(JSON.stringify(message)),
    people: (): Person[] => {
      const last = received.findLastIndex((message) => message.type === "people");
      const listed = received[last]?.type === "people" ? received[last].people : [];
      const moves = received.slice(last + 1).flatMap((message) => (message.type === "moved" ? message.people : []));
      return listed.map((person) => ({ ...person, ...moves.findLast(({ id }) => id === person.id) }));
    },
    async gets(expected: object): Promise<TogetherFromDaemon> {
      await expect.poll(() => received, { timeout: 30_000 }).toContainEqual(expect.objectContaining(expected));
      return received.findLast((message) => Object.entries(expected).every(([key, value]) => isEqual(message, key, value)))!;
    },
    // The daemon has read everything that was sent.
    async isRead() {
      socket.ping();
      await once(socket, "pong");
    },
    async leave() {
      socket.close();
      await once(socket, "close");
    },
  };
}

const isEqual = (message: TogetherFromDaemon, key: string, value: unknown): boolean =>
  JSON.stringify((message as Record<string, unknown>)[key]) === JSON.stringify(value);
