import { copyText } from "../browser/clipboard.ts";
import type { Uses } from "../actions/actions.ts";

const durations = [
  { id: "1", label: "1 hour" },
  { id: "8", label: "8 hours" },
  { id: "24", label: "24 hours" },
];

// Makes a link to a port that everyone who has it can open until it ends.
export async function sharePort({ dialogs, notices, ports }: Uses<"dialogs" | "notices" | "ports">, port: number): Promise<void> {
  const duration = await dialogs.ask({
    title: `Share port ${port}?`,
    text: "Everyone who has the link can use this port, but not the files, terminals and other ports of this workspace. How long is it valid?",
    choices: durations,
  });
  if (duration === null) return;
  await notices.attempt(`Could not share port ${port}`, async () => {
    const { url, expiresAtMs } = await ports.shareLink(port, Number(duration.choice));
    const end = new Date(expiresAtMs).toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" });
    const answer = await dialogs.ask({
      title: `Link to port ${port}`,
      text: `It is valid until ${end}, or until this session ends.`,
      input: { label: "Link", value: url, error: () => null },
      choices: [{ id: "copy", label: "Copy", kind: "primary" }],
    });
    if (answer === null) return;
    await copyText(url);
    notices.info("The link is copied.");
  });
}
