import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createLog } from "./log.ts";

function collect(level: "debug" | "info" = "info") {
  const lines: object[] = [];
  const log = createLog(level, { write: (line) => void lines.push(JSON.parse(line) as object) });
  return { log, lines };
}

test("a secret that is logged by mistake is masked, in the fields, in an object among them and in a child's fields", () => {
  const { log, lines } = collect();
  const fields = { requestId: "req_1", token: "SECRET", request: { cookie: "SECRET", path: "/x" }, key: undefined, list: ["a"] };
  log.info("one", fields);
  log.child({ sessionId: "ses_1", apiKey: "SECRET" }).error("two", { error: "broken" });
  expect(lines).toMatchObject([
    { msg: "one", requestId: "req_1", token: "[redacted]", request: { cookie: "[redacted]", path: "/x" }, list: ["a"] },
    { msg: "two", sessionId: "ses_1", apiKey: "[redacted]", error: "broken" },
  ]);
  expect(JSON.stringify(lines)).not.toContain("SECRET");
  expect(fields.token).toBe("SECRET");
});

test("a key or token in a text is masked, and nothing else of it", () => {
  const { log, lines } = collect();
  const secrets = [`berth_${"a1".repeat(32)}`, `berth_op_${"b2".repeat(32)}`, `berth_st_${"0".repeat(26)}_${"-_Az".repeat(11).slice(1)}`];
  for (const secret of secrets) log.warn("failed", { message: `no ${secret}, sorry`, cause: { text: secret } });
  log.warn("failed", { message: "berth_gateway_requests_total_of_a_long_metric_name_is_none" });
  const masked = { message: "no [redacted], sorry", cause: { text: "[redacted]" } };
  expect(lines).toMatchObject([masked, masked, masked, { message: "berth_gateway_requests_total_of_a_long_metric_name_is_none" }]);
});

test("events below the level are not logged, also by a child", () => {
  const { log, lines } = collect();
  log.debug("unseen");
  log.child({ a: 1 }).debug("unseen");
  log.info("seen");
  expect(lines).toMatchObject([{ msg: "seen" }]);
});

test.each([
  ["the process exits", "process.exit(1)"],
  ["an error is logged and the process is killed", 'log.error("three"); process.kill(process.pid, "SIGKILL")'],
  ["a moment has passed and the process is killed", 'setTimeout(() => process.kill(process.pid, "SIGKILL"), 500)'],
])("no line is lost if %s", async (_, end) => {
  const script = `const { createLog } = await import(${JSON.stringify(join(import.meta.dirname, "log.ts"))});
    const log = createLog("info"); log.info("one"); log.child({ a: 1 }).info("two"); ${end};`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "ignore", "pipe"] });
  const [output] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect(output).toMatch(/"one".*\n.*"two"/);
});
