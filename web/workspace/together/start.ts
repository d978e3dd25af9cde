import type { TogetherFromClient, TogetherFromDaemon } from "@berth/contract/workspace/together.ts";
import { connectSocket } from "../connection/socket.ts";
import type { Uses } from "../actions/actions.ts";
import { followPerson } from "./follow-person.ts";
import { createSharedFiles } from "./shared-files.ts";

const PLACE_AFTER_MS = 60;

// Connects this page with the others: says where this one is, learns where they are, and shares the texts that several have open.
export function startTogether(deps: Uses<"api" | "connections" | "documents" | "mayEdit" | "openFile" | "together">): void {
  const { mayEdit, api, together, documents, connections } = deps;
  const send = (message: TogetherFromClient) => socket.send(JSON.stringify(message));
  const files = createSharedFiles({ documents, send, mayEdit });
  let placing: ReturnType<typeof setTimeout> | undefined;
  const sendPlace = () => {
    placing = undefined;
    send({ type: "place", place: together.store.getState().place });
  };

  const socket = connectSocket({
    url: () => api.socketUrl("together"),
    onOpen() {
      sendPlace();
      files.connected();
    },
    onText(text) {
      const message = JSON.parse(text) as TogetherFromDaemon;
      if (message.type === "people") together.setPeople(message.people, message.you);
      else if (message.type === "moved") together.movePeople(message.people);
      else files.receive(message);
    },
    onDisconnected() {
      together.setPeople([], null);
      files.disconnected();
    },
  });
  connections.add(socket);
  together.store.subscribe((now, before) => {
    if (now.place !== before.place) placing ??= setTimeout(sendPlace, PLACE_AFTER_MS);
  });
  followPerson(deps);
}
