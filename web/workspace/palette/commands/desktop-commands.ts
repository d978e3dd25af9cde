import type { Uses } from "../../actions/actions.ts";
import { copyText } from "../../browser/clipboard.ts";
import { isSshOffered } from "../../state/session/session-store.ts";
import type { Session } from "../../state/session.ts";
import type { Command } from "./command.ts";

// For people whose machine reaches sessions over SSH, as `{sessionId}.berth` (docs/ssh.md).
export function desktopCommands({ notices, store }: Uses<"notices"> & Pick<Session, "store">): Command[] {
  const host = () => `${store.getState().session?.sessionId ?? ""}.berth`;
  const copy = async () => {
    const text = `ssh ${host()}`;
    if (await notices.attempt("Could not copy the command", () => copyText(text))) notices.info(`Copied “${text}”`);
  };
  const isAvailable = () => isSshOffered(store.getState());
  return [
    { id: "desktop.vscode", title: "Open in VS Code", isAvailable, run: () => location.assign(vsCodeUrl(host())) },
    { id: "desktop.ssh", title: "Copy SSH command", isAvailable, run: () => void copy() },
  ];
}

const vsCodeUrl = (host: string): string => `vscode://vscode-remote/ssh-remote+${host}/workspace`;
