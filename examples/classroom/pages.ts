import type { Session, Usage } from "@berth/client";

// One student as the teacher sees them. `handIn` is the newest snapshot.
export interface Row {
  student: string;
  link: string;
  session?: Session;
  handIn?: string;
  used?: Usage;
}

export const textPage = (text: string) => page(`<p>${text}</p>`);

export const lessonPage = (student: string, { link, berthUrl }: { link: string; berthUrl: string }) =>
  page(`<header><strong>Shell 1</strong> <span>${student}</span> <button>Hand in</button> <output></output></header>
    <iframe src="${link}/workspace" title="Your workspace" allow="clipboard-read; clipboard-write; fullscreen"></iframe>
    <script type="module">
      import { connectWorkspace } from "${berthUrl}/workspace/embed.js";
      const workspace = connectWorkspace(document.querySelector("iframe"));
      workspace.on("ready", () => workspace.openFile("hello.sh"));
      document.querySelector("button").onclick = async () => {
        const answer = await fetch("${link}/hand-in", { method: "POST" });
        document.querySelector("output").textContent = await answer.text();
      };
    </script>`);

const REASONS: Record<string, string> = { idle: "away", api: "paused", timeout: "time is up" };
const stateOf = ({ session }: Row) =>
  !session ? "not started" : session.status === "running" ? "active" : (REASONS[session.stopReason ?? ""] ?? "stopped");

export function overviewPage(base: string, { rows, isOpen }: { rows: Row[]; isOpen: boolean }): string {
  const lines = rows.map((row) => {
    const { student, link, session, handIn, used } = row;
    const cells = [
      `<a href="${link}">${student}</a>`,
      stateOf(row),
      used ? `${Math.round(used.runningSeconds / 60)} min` : "",
      session ? `<a href="${base}/watch/${student}">watch</a>` : "",
      handIn ? `<a href="${base}/review/${handIn}">review</a>` : "",
    ];
    return `<tr class="${session?.status}">${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
  });
  const active = rows.filter(({ session }) => session?.status === "running").length;
  const button = (action: string, label: string) => `<form method="post" action="${base}/${action}"><button>${label}</button></form>`;
  return page(`<header><strong>Shell 1</strong> <span>${active} of ${rows.length} active</span>
    ${isOpen ? button("pause", "Pause all") : button("continue", "Continue the lesson")} ${button("collect", "Collect all")}</header>
    <table><tr><th>Student<th>State<th>Worked<th>Look<th>Hand-in</tr>${lines.join("\n")}</table>`);
}

const page = (body: string) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Shell 1</title>
<style>
  body { margin: 0; height: 100dvh; display: grid; grid-template-rows: auto 1fr; font: 1rem/1.5 system-ui, sans-serif; }
  header { padding: .5rem 1rem; display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; border-bottom: 1px solid #ddd; }
  iframe { border: 0; width: 100%; height: 100%; }
  table { margin: 1rem; border-collapse: collapse; align-self: start; }
  th, td { padding: .2rem .6rem .2rem 0; text-align: left; white-space: nowrap; font-size: .9rem; border-bottom: 1px solid #eee; }
  tr:not(.running) { color: #666; }
  body > p { margin: auto; padding: 1rem; }
</style>
${body}
</html>`;
