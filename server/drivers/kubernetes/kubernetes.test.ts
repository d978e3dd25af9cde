import { claimsLeft, openDouble } from "../../../tests/support/kubernetes/driver.ts";
import { driverSuite } from "../driver.suite.ts";

// Every promise of a driver, on both kinds of workload.
for (const [name, crds] of [
  ["kubernetes (Sandbox)", true],
  ["kubernetes (StatefulSet)", false],
] as const)
  driverSuite(name, async () => {
    const { double, open } = await openDouble({ crds });
    return {
      driver: await open(),
      reopen: open,
      leftovers: async (id) => claimsLeft(double, id),
      dispose: async () => double[Symbol.asyncDispose](),
    };
  });
