import { expect, test } from "vitest";
import { createStore } from "zustand/vanilla";
import type { Terminal } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";
import type { Layout } from "../page/layout.ts";
import { createNotices } from "../page/notices.ts";
import { createTerminals } from "./terminals.ts";

const terminal = (id: string) => ({ id, title: id, exit: null }) as unknown as Terminal;

function setUp(removeTerminal: Api["removeTerminal"]) {
  // The real layout needs a browser.
  const store = createStore(() => ({ terminalGroups: [] as string[][], activeTerminal: null as string | null }));
  const layout = { store, set: store.setState } as unknown as Layout;
  const terminals = createTerminals({ api: { removeTerminal } as Api, layout, notices: createNotices() });
  terminals.update([terminal("a"), terminal("b")]);
  const ids = () => terminals.store.getState().list?.map(({ id }) => id);
  return { terminals, ids, layout: store };
}

test("a closed terminal does not come back with a list that the daemon sent before", async () => {
  const { terminals, ids } = setUp(async () => undefined);
  const closing = terminals.close("a");
  terminals.update([terminal("a"), terminal("b")]);
  expect(ids()).toEqual(["b"]);
  await closing;
  terminals.update([terminal("a"), terminal("b")]);
  expect(ids()).toEqual(["b"]);
});

test("a terminal that could not be closed comes back", async () => {
  const { terminals, ids } = setUp(() => Promise.reject(new Error("the network is down")));
  await terminals.close("a");
  expect(ids()).toEqual(["b", "a"]);
});

test("when one of several terminals side by side is closed, the one beside it becomes active and gets the focus", () => {
  const { terminals, layout } = setUp(async () => undefined);
  terminals.update(["a", "b", "c"].map(terminal));
  layout.setState({ terminalGroups: [["a", "b"], ["c"]], activeTerminal: "b" });
  terminals.closePane("b");
  expect(layout.getState()).toMatchObject({ terminalGroups: [["a"], ["c"]], activeTerminal: "a" });
  expect(terminals.store.getState().focusId).toBe("a");
});
