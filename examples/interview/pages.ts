import type { Interview, Phase } from "./server.ts";

export const newInterviewPage = () =>
  page(`<form method="post" action="/interviews"><h1>New interview</h1>
    <label>Candidate <input name="candidate" required maxlength="64"></label>
    <label>Minutes <input name="minutes" type="number" min="1" max="240" value="45"></label> <button>Create the links</button></form>`);

export const candidatePage = ({ candidate, candidateCode: code, minutes }: Interview, phase: Phase) =>
  page(
    {
      waiting: `<form method="post" action="/${code}/start"><h1>Welcome, ${escape(candidate)}</h1>
        <p>You have ${minutes} minutes. The time begins when you press the button.</p><button>Begin</button></form>`,
      running: `<header><strong>Interview</strong> <output></output></header>${frame(code)}`,
      over: `<form><h1>The interview is over</h1><p>Thank you. Your work is saved.</p></form>`,
    }[phase.name] + watch(code, phase),
  );

export const interviewerPage = ({ candidate, candidateCode, watchCode: code }: Interview, phase: Phase) =>
  page(
    {
      waiting: `<form><h1>Interview with ${escape(candidate)}</h1><label>Send this link to the candidate
        <input id="link" readonly></label><p>This page shows the workspace as soon as the candidate begins.</p></form>
        <script>document.getElementById("link").value = location.origin + "/${candidateCode}"</script>`,
      running: `<header><strong>${escape(candidate)}</strong> <output></output>
        <form method="post" action="/${code}/end"><button>End now</button></form></header>${frame(code)}`,
      over: `<form action="/${code}/result"><h1>${escape(candidate)}: the interview is over</h1><button>Open the result</button></form>`,
    }[phase.name] + watch(code, phase),
  );

const frame = (code: string) => `<iframe src="/${code}/workspace" title="Workspace" allow="clipboard-read; clipboard-write"></iframe>
  <script type="module">
    import { connectWorkspace } from "${process.env.BERTH_URL ?? "http://localhost:8080"}/workspace/embed.js";
    const workspace = connectWorkspace(document.querySelector("iframe"));
    workspace.on("ready", () => workspace.openFile("TASK.md"));
  </script>`;

// Shows the time, and loads the page again when the interview begins or ends.
const watch = (code: string, { name }: Phase) => `<script>
  setInterval(async () => {
    const phase = await fetch("/${code}/phase").then((answer) => answer.json());
    if (phase.name !== "${name}") location.reload();
    else if (phase.minutesLeft !== null) document.querySelector("output").value = phase.minutesLeft + " min left";
  }, 2000);
</script>`;

const escape = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const page = (body: string) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Interview</title>
<style>
  body { margin: 0; height: 100dvh; display: grid; grid-template-rows: auto 1fr; font: 1rem/1.5 system-ui, sans-serif; }
  header { padding: .5rem 1rem; display: flex; gap: 1rem; align-items: baseline; border-bottom: 1px solid #ddd; }
  label { display: grid; } iframe { border: 0; width: 100%; height: 100%; }
  body > form { grid-row: 2; margin: auto; display: grid; gap: .75rem; width: min(30rem, 90vw); }
  input, body > form button { font: inherit; padding: .3rem .6rem; }
</style>
${body}
</html>`;
