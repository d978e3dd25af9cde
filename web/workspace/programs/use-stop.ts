import { useEffect, useRef, useState } from "react";
import type { Program } from "@berth/contract/daemon/programs.ts";
import { ApiError } from "../connection/api.ts";
import { usePage, useSandbox } from "../state/context.ts";
import type { ShownPrograms } from "./use-programs.ts";

// Stops programs. `body` takes the keyboard focus when the button that had it disappears.
export function useStop(shown: ShownPrograms | null, refresh: () => void) {
  const { notices } = usePage();
  const { api } = useSandbox();
  const [stopping, setStopping] = useState<ReadonlySet<string>>(new Set());
  const body = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (stopping.size > 0 && document.activeElement === document.body) body.current?.focus();
  }, [shown, stopping]);

  async function stopProgram({ id }: Program, name: string): Promise<void> {
    setStopping((before) => new Set(before).add(id));
    const isStopped = await notices.attempt(`Could not stop ${name}`, async () => {
      await api.json<void>(`api/programs/${id}/stop`, "POST").catch((error: unknown) => {
        // It has ended in the meantime.
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      });
    });
    if (!isStopped) setStopping((before) => new Set([...before].filter((one) => one !== id)));
    refresh();
  }

  return { body, stopping, onStop: (program: Program, name: string) => void stopProgram(program, name) };
}
