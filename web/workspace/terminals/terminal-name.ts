import type { Terminal } from "@berth/contract/daemon.ts";

// A person's own name for a terminal, or the program that runs in it, or its number.
export const terminalName = ({ id, program, title }: Terminal, names: Record<string, string>): string => names[id] || program || title;
