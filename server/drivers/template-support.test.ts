import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Template } from "@berth/contract";
import { expect, test } from "vitest";
import { silentLog } from "../log.ts";
import { DEFAULT_TEMPLATE } from "../templates.ts";
import type { DriverName } from "./driver.ts";
import { acceptTemplates, compareTemplates, FIELD_SUPPORT } from "./template-support.ts";

const DRIVERS: DriverName[] = ["oci", "docker", "kubernetes", "process"];
// The server or the daemon applies these, whatever the driver.
const ELSEWHERE =
  "name description env setup snapshot relays mcpServers model agent fallbackAgents languageServers idleTimeoutMs busyCounts autoResume onTimeout maxTimeoutMs maxResources".split(
    " ",
  );

const templatesWith = (fields: Partial<Template>) => new Map([["python", { ...DEFAULT_TEMPLATE, name: "python", ...fields }]]);

test("every field of a template is in the table of drivers, or works without the driver", () => {
  const known = [...Object.keys(FIELD_SUPPORT).filter((field) => !field.includes(":")), ...ELSEWHERE];
  expect(known.toSorted()).toEqual(Object.keys(Template.properties).toSorted());
});

test("docs/templates.md has the table", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/templates.md"), "utf8");
  const rows = Object.entries(FIELD_SUPPORT).map(
    ([field, support]) => `| \`${field}\` | ${DRIVERS.map((driver) => support[driver]).join(" | ")} |`,
  );
  expect(page).toContain(["| field | oci | docker | kubernetes | process |", "|---|---|---|---|---|", ...rows].join("\n"));
});

test("a field that a driver cannot use is refused, with the template, the field, the driver and those that can", () => {
  const accept = (driver: DriverName, fields: Partial<Template>) => () => acceptTemplates(driver, templatesWith(fields), silentLog);
  expect(accept("docker", { root: "/srv/root" })).toThrow(
    "The template python has the field root, which the driver docker cannot use; oci can. Remove it from the template, or choose another driver with BERTH_DRIVER.",
  );
  expect(accept("kubernetes", { image: "docker-archive:/srv/tools.tar" })).toThrow(
    "docker-archive:…, which the driver kubernetes cannot use; oci can",
  );
  expect(accept("process", { image: "debian:12" })).toThrow(
    "the field image, which the driver process cannot use; oci, docker, kubernetes can",
  );
  expect(accept("oci", { runtime: "runsc" })).toThrow("the field runtime, which the driver oci cannot use; docker, kubernetes can");
  for (const driver of ["oci", "docker", "kubernetes"] as const) expect(accept(driver, { image: "debian:12", pids: 64 })).not.toThrow();
  for (const driver of DRIVERS) expect(accept(driver, {})).not.toThrow();
});

test("a field that a driver applies in another way is named, unless it has its default", () => {
  expect(compareTemplates("kubernetes", templatesWith({ pids: 64 }))).toEqual({
    refused: [],
    different: [
      { template: "python", field: "pids", message: "python.pids on the driver kubernetes: limited by podPidsLimit of the nodes." },
    ],
  });
  expect(compareTemplates("process", templatesWith({ memoryMb: 512, egress: { policy: "none" } })).different).toMatchObject([
    { field: "memoryMb" },
    { field: "egress" },
  ]);
  expect(compareTemplates("kubernetes", templatesWith({})).different).toEqual([]);
});
