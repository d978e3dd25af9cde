import { once } from "node:events";
import { connect } from "node:net";
import type { Driver } from "../../drivers/driver.ts";

// A driver whose sandboxes all have their daemon at this Unix socket.
export const socketDriver = (path: string): Pick<Driver, "dial"> => ({
  async dial() {
    const socket = connect(path);
    await once(socket, "connect");
    return socket;
  },
});
