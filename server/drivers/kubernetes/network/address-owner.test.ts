import { expect, test } from "vitest";
import { newId } from "@berth/contract";
import { openDouble } from "../../../../tests/support/kubernetes/driver.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import { nameOf } from "../cluster/names.ts";
import { sandboxOf } from "../pods/pod-watch.ts";

const deadline = () => AbortSignal.timeout(60_000);

test("a sandbox owns the address of its pod until it is stopped, on every server", async () => {
  const { double, open } = await openDouble();
  await using cluster = double;
  await using driver = await open();
  await using other = await open();
  const [id, neighbour] = [newId("sbx", 1), newId("sbx", 2)];
  const specOf = (sandboxId: typeof id) => ({ id: sandboxId, template: { ...DEFAULT_TEMPLATE, diskMb: 256 }, tokenHash: "0".repeat(64) });
  const addressOf = (sandboxId: typeof id) =>
    (cluster.objects.list("pods").find((pod) => sandboxOf(pod) === nameOf(sandboxId))!.status as { podIP: string }).podIP;
  const owners = (address: string) => Promise.all([driver, other].map((server) => server.addressOwner!(id, address, deadline())));
  await Promise.all([driver.create(specOf(id), deadline()), driver.create(specOf(neighbour), deadline())]);

  const before = addressOf(id);
  expect(await owners(before)).toEqual(["sandbox", "sandbox"]);
  expect(await owners(addressOf(neighbour))).toEqual([null, null]);

  await driver.pause(id, deadline());
  await expect.poll(() => owners(before)).toEqual([null, null]);
  await driver.resume(specOf(id), deadline());
  const after = addressOf(id);
  expect(after).not.toBe(before);
  expect(await owners(after)).toEqual(["sandbox", "sandbox"]);
  expect(await owners(before)).toEqual([null, null]);

  await driver.destroy(id, deadline());
  await expect.poll(() => owners(after)).toEqual([null, null]);
  await driver.destroy(neighbour, deadline());
});
