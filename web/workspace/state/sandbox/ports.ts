import { createStore } from "zustand/vanilla";
import type { ExpectedPort, ListeningPort, PortList } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";

export interface PortsState {
  list: ListeningPort[];
  // The ports that the repository names, whether or not a program listens there.
  expected: ExpectedPort[];
  // The path that the preview of a port was last requested to load.
  previews: Record<number, { path: string }>;
}

// The ports that programs in the sandbox listen on.
export function createPorts(api: Api) {
  const store = createStore<PortsState>(() => ({ list: [], expected: [], previews: {} }));
  const announced = new Set<number>();
  const previewUrl = async (port: number, path = "/") => (await api.previewLink({ port, path })).url;
  return {
    store,
    // Returns the ports that were never listed before.
    update({ ports: list, expected = [] }: PortList): ListeningPort[] {
      store.setState({ list, expected });
      const added = list.filter(({ port }) => !announced.has(port));
      for (const { port } of added) announced.add(port);
      return added;
    },
    labelOf: (port: number): string | null => store.getState().expected.find((one) => one.port === port)?.label ?? null,
    previewUrl,
    // A link to pass on.
    shareLink: (port: number, shareHours: number) => api.previewLink({ port, shareHours }),
    // Loads a path in the preview of a port, even if the preview shows that path already.
    requestPreview: (port: number, path: string) => store.setState(({ previews }) => ({ previews: { ...previews, [port]: { path } } })),
    // Browsers allow a new tab only during the click, so it opens before its URL is known. Clearing `opener` keeps the
    // program in the sandbox away from this page.
    async openInNewTab(port: number, path = "/") {
      const opened = window.open("about:blank", "_blank");
      if (opened === null) throw new Error("The browser blocked the new tab. Allow pop-ups for this page");
      opened.opener = null;
      try {
        opened.location.replace(await previewUrl(port, path));
      } catch (error) {
        opened.close();
        throw error;
      }
    },
  };
}
