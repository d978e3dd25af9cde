import { expect, test } from "vitest";
import type { Terminal } from "@berth/contract/daemon.ts";
import { terminalName } from "./terminal-name.ts";

const terminal = (program: string | null) => ({ id: "t", title: "Terminal 1", program }) as Terminal;

test("a terminal is called by its given name, by its program, or by its number", () => {
  expect(terminalName(terminal("node"), { t: "server" })).toBe("server");
  expect(terminalName(terminal("node"), {})).toBe("node");
  expect(terminalName(terminal(null), {})).toBe("Terminal 1");
});
