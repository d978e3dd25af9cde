import type { ModelReply } from "../../tests/support/agents/model-server.ts";

// The project in the screenshots, and the scripted replies of the model.

const tides = `// High and low water at a harbour, from a few harmonic constituents.
const M2_HOURS = 12.4206; // the moon
const S2_HOURS = 12; // the sun

/** Height of the water in metres above chart datum, \`hours\` after midnight. */
export function height({ mean, m2, s2 }, hours) {
  const moon = m2.amplitude * Math.cos(turn(hours, M2_HOURS) - m2.phase);
  const sun = s2.amplitude * Math.cos(turn(hours, S2_HOURS) - s2.phase);
  return mean + moon + sun;
}

export function nextHighWater(harbour, from, stepHours = 1 / 12) {
  let hours = from;
  while (height(harbour, hours) >= height(harbour, hours + stepHours)) hours += stepHours;
  while (height(harbour, hours) < height(harbour, hours + stepHours)) hours += stepHours;
  return { hours, metres: height(harbour, hours) };
}

const turn = (hours, period) => (2 * Math.PI * hours) / period;
`;

const server = `import { createServer } from "node:http";
import { nextHighWater } from "./tides.js";

const harbour = { mean: 2.1, m2: { amplitude: 1.6, phase: 0.4 }, s2: { amplitude: 0.5, phase: 1.1 } };

createServer((_request, response) => {
  const { hours, metres } = nextHighWater(harbour, 6);
  const clock = \`\${Math.floor(hours)}:\${String(Math.round((hours % 1) * 60)).padStart(2, "0")}\`;
  response.setHeader("content-type", "text/html");
  response.end(\`<body style="font: 18px system-ui; padding: 48px; color: #1d232b">
    <p style="color: #59626f; margin: 0">Next high water</p><h1 style="font-size: 64px; margin: 0">\${clock}</h1>
    <p>\${metres.toFixed(2)} m above chart datum</p></body>\`);
}).listen(3000, () => console.log("listening on http://localhost:3000"));
`;

const tests = `import assert from "node:assert/strict";
import test from "node:test";
import * as tides from "../src/tides.js";

const harbour = { mean: 2, m2: { amplitude: 1, phase: 0 }, s2: { amplitude: 0, phase: 0 } };

test("the height at the crest is the mean plus the amplitude", () => assert.equal(tides.height(harbour, 0), 3));
test("high water follows the moon", () => assert.ok(Math.abs(tides.nextHighWater(harbour, 1).hours - 12.42) < 0.1));
`;

export const files: Record<string, string> = {
  "README.md":
    "# Tides\n\nHigh and low water for small harbours.\n\n- `node --test` runs the tests\n- `node src/server.js` shows the next high water\n",
  "package.json": '{\n  "name": "tides",\n  "type": "module",\n  "private": true\n}\n',
  "src/server.js": server,
  "src/tides.js": tides,
  "test/tides.test.js": tests,
};

export const mineOnTop = "// Times are local to the harbour.\n";
export const theirs = tides.replace("stepHours = 1 / 12", "stepHours = 1 / 60");

const lowWater = `export function nextLowWater({ mean, m2, s2 }, from) {
  const flip = (tide) => ({ ...tide, amplitude: -tide.amplitude });
  const high = nextHighWater({ mean: -mean, m2: flip(m2), s2: flip(s2) }, from);
  return { hours: high.hours, metres: -high.metres };
}

`;

const lowWaterTest = `test("low water is half a tide later", () => assert.ok(Math.abs(tides.nextLowWater(harbour, 1).hours - 6.21) < 0.1));
`;

export const modelReplies = (): ModelReply[] => [
  { tool: "edit", input: { path: "/workspace/src/tides.js", before: "const turn =", after: `${lowWater}const turn =` } },
  { tool: "edit", input: { path: "/workspace/test/tides.test.js", before: 'test("high', after: `${lowWaterTest}test("high` } },
  { tool: "shell", input: { command: "node --test" } },
  { say: "`nextLowWater` turns the tide curve **upside down** and finds its next high water. All three tests pass." },
];
