import { expect, test } from "vitest";
import { exposureRefusal } from "./exposure.ts";

test("sandboxes without isolation are refused if other machines can reach the server, unless the operator accepts it", () => {
  const local = { host: "127.0.0.1", baseUrl: null, allowUnisolated: false };
  const behindProxy = { ...local, baseUrl: "https://berth.example.com" };
  expect(exposureRefusal(local)).toBeUndefined();
  expect(exposureRefusal({ ...local, baseUrl: "http://localhost:8080" })).toBeUndefined();
  expect(exposureRefusal({ ...local, host: "0.0.0.0", allowUnisolated: true })).toBeUndefined();
  expect(exposureRefusal({ ...local, host: "0.0.0.0" })).toMatch(/BERTH_HOST is 0\.0\.0\.0.*BERTH_ALLOW_UNISOLATED=1/);
  expect(exposureRefusal(behindProxy)).toMatch(/BERTH_BASE_URL is https:\/\/berth\.example\.com.*BERTH_ALLOW_UNISOLATED=1/);
  expect(exposureRefusal({ ...behindProxy, allowUnisolated: true })).toBeUndefined();
});
