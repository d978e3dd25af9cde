import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { SandboxId } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nameOf } from "../../server/drivers/kubernetes/cluster/names.ts";
import { sandboxOf } from "../../server/drivers/kubernetes/pods/pod-watch.ts";
import { createEgressTokens } from "../../server/egress/egress-tokens.ts";
import { createSecrets } from "../../server/secrets/secrets.ts";
import { createApi } from "../support/servers/api.ts";
import { prepareBerth, type Berth } from "../support/servers/berth.ts";
import { eventually, shareChromium, openWorkspace, screenText, typeInTerminal } from "../support/browser/workspace.ts";
import { describeWith, machine, testWith, type Missing } from "../support/machine.ts";
import { openSeverableProxy, type SeverableProxy } from "../support/servers/severable-proxy.ts";
import { startKubernetesDouble } from "../support/kubernetes/double.ts";
import type { Kubelet } from "../support/kubernetes/nodes/kubelet.ts";
import { realCluster } from "../support/kubernetes/real.ts";
import { freePort } from "../support/servers/port.ts";
import { sharedPostgres } from "../support/databases/postgres.ts";
import { daemonRuntime } from "../support/runtime.ts";

interface TestedCluster extends AsyncDisposable {
  env: Record<string, string>;
  // The address under which pods reach this machine.
  hostForPods: string;
  // The parts that a test may break, and the addresses that it may use; only on the double.
  double?: { kubelet: Kubelet; addressOf(sandboxId: string): string };
}

const onTheDouble = async (): Promise<TestedCluster> => {
  const double = await startKubernetesDouble({ runtimeDir: await daemonRuntime() });
  const podOf = (sandboxId: string) => double.objects.list("pods").find((pod) => sandboxOf(pod) === nameOf(sandboxId as SandboxId));
  return {
    env: { BERTH_KUBECONFIG: double.kubeconfig },
    hostForPods: "127.0.0.1",
    double: { kubelet: double.kubelet, addressOf: (sandboxId) => (podOf(sandboxId)!.status as { podIP: string }).podIP },
    [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
  };
};
const onRealCluster = async (): Promise<TestedCluster> => ({
  env: {
    BERTH_KUBECONFIG: realCluster.kubeconfig,
    BERTH_SANDBOX_IMAGE: realCluster.image,
    BERTH_INSTALLATION: realCluster.newInstallation(),
  },
  hostForPods: realCluster.hostForPods,
  [Symbol.asyncDispose]: async () => {},
});

// Three servers behind one address, like a Service of a cluster: any of them serves any session.
replicas("on the double", onTheDouble, {});
replicas("on a real cluster", onRealCluster, {
  missing: machine.realCluster,
  missingDouble: "a test must not take an address or a node of a real cluster",
});

interface ReplicaOptions {
  missing?: Missing;
  missingDouble?: Missing;
}

function replicas(name: string, prepare: () => Promise<TestedCluster>, { missing, missingDouble }: ReplicaOptions): void {
  describeWith(missing, `three replicas on kubernetes (${name})`, () => {
    let cluster: TestedCluster;
    let postgres: Awaited<ReturnType<typeof sharedPostgres>>;
    let servers: Berth[] = [];
    let address: SeverableProxy;
    let inFront = 0;
    const world = createServer((_request, response) => void response.end("the world"));

    beforeAll(async () => {
      [cluster, postgres] = await Promise.all([prepare(), sharedPostgres()]);
      await once(world.listen(0, "127.0.0.1"), "listening");
      address = await openSeverableProxy(() => Number(new URL(servers[inFront]!.url).port));
      const shared = {
        BERTH_DRIVER: "kubernetes",
        ...cluster.env,
        BERTH_DATABASE_URL: await postgres.createDatabase(),
        BERTH_MASTER_KEY: randomBytes(32).toString("hex"),
        BERTH_API_KEY: `berth_${randomBytes(32).toString("hex")}`,
        BERTH_BASE_URL: `http://localhost:${address.port}`,
        BERTH_LOG_LEVEL: "warn",
        BERTH_EGRESS_ALLOW: `127.0.0.1:${worldPort()}`,
      };
      for (let i = 0; i < 3; i++) {
        const port = await freePort(cluster.hostForPods);
        const egress = `${cluster.hostForPods}:${port}`;
        servers.push(await prepareBerth({ ...shared, BERTH_EGRESS_LISTEN: egress, BERTH_EGRESS_ADDRESS: egress }));
      }
      await Promise.all(servers.map((server) => server.start()));
    });
    afterAll(async () => {
      world.close();
      await address?.[Symbol.asyncDispose]();
      for (const server of servers) await server[Symbol.asyncDispose]();
      servers = [];
      await postgres?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
    });

    const worldPort = () => (world.address() as AddressInfo).port;
    const apis = () => servers.map((server) => createApi(server.url, servers[0]!.env["BERTH_API_KEY"]!));

    test("a session created by one server is paused, resumed and destroyed by the others", async () => {
      const [one, two, three] = apis() as [ReturnType<typeof createApi>, ReturnType<typeof createApi>, ReturnType<typeof createApi>];
      const session = await one.create();
      const path = `/api/b2b/sessions/${session.sessionId}`;
      await two.exec(session.sandboxId, "echo kept > note");
      expect((await three.call("POST", `${path}/pause`)).status).toBe(200);
      expect((await one.call("POST", `${path}/pause`)).status).toBe(409);
      expect((await two.call("POST", `${path}/resume`, { autoStartAgent: false })).status).toBe(200);
      for (const api of [one, two, three]) expect((await api.exec(session.sandboxId, "cat note")).stdout).toBe("kept\n");
      expect((await one.call("DELETE", path)).status).toBe(200);
      expect((await three.call("GET", path)).body).toMatchObject({ status: "destroyed" });
    });

    test("calls through all servers to a session that one has paused share one resume", async () => {
      const all = apis();
      const session = await all[0]!.create({ autoResume: true, autoStartAgent: false });
      const path = `/api/b2b/sessions/${session.sessionId}`;
      // The servers know the session as running.
      for (const api of all) await api.exec(session.sandboxId, "echo kept > note");
      expect((await all[2]!.call("POST", `${path}/pause`)).status).toBe(200);
      const files = `/sandboxes/${session.sandboxId}/files/content?path=note`;
      const responses = await Promise.all(Array.from({ length: 30 }, (_, i) => all[i % 3]!.call("GET", files)));
      expect(new Set(responses.map(({ status, body }) => `${status} ${String(body).trim()}`))).toEqual(new Set(["200 kept"]));
      const { data } = (await all[1]!.call("GET", "/api/b2b/events?limit=100")).body as {
        data: { type: string; data: { sessionId: string } }[];
      };
      const resumed = data.filter(({ type, data: { sessionId } }) => type === "session.resumed" && sessionId === session.sessionId);
      expect(resumed).toHaveLength(1);
      await all[0]!.call("DELETE", path);
    });

    testWith(
      missingDouble,
      "an egress token works from its own pod while the session runs, and every replica learns when it ends",
      async () => {
        const [one, two] = apis() as [ReturnType<typeof createApi>, ReturnType<typeof createApi>];
        const session = await one.create();
        const secrets = createSecrets([Buffer.from(servers[0]!.env["BERTH_MASTER_KEY"]!, "hex")]);
        const token = createEgressTokens(secrets).issue({ sandboxId: session.sandboxId as SandboxId, template: "default" });
        const tunnelThrough = async (server: Berth, localAddress: string) => {
          const port = Number(server.env["BERTH_EGRESS_LISTEN"]!.split(":").at(-1));
          const socket = connect({ host: "127.0.0.1", port, localAddress }).on("error", () => {});
          socket.write(`${token}\nCONNECT 127.0.0.1:${worldPort()} HTTP/1.1\r\nhost: x\r\n\r\n`);
          const answer = await Promise.race([once(socket, "data").then(String), once(socket, "close").then(() => "closed")]);
          return { socket: socket.resume(), answer };
        };

        const address = cluster.double!.addressOf(session.sandboxId);
        for (const server of servers) expect((await tunnelThrough(server, "127.0.0.1")).answer).toBe("closed");
        const tunnels = await Promise.all(servers.map((server) => tunnelThrough(server, address)));
        expect(tunnels.map(({ answer }) => answer)).toEqual(servers.map(() => expect.stringContaining("200")));
        // A policy that one server changes holds on all of them within a second, also in tunnels if the change says so.
        const change = (egress: object | null, closeConnections = false) =>
          two.call("PATCH", `/api/b2b/sessions/${session.sessionId}`, { egress, closeConnections });
        const answers = () => Promise.all(servers.map(async (server) => (await tunnelThrough(server, address)).answer));
        expect((await change({ policy: "none" })).status).toBe(200);
        await expect.poll(answers, { timeout: 1_000 }).toEqual(servers.map(() => expect.stringContaining("no network access")));
        expect(tunnels.map(({ socket }) => socket.closed)).toEqual(servers.map(() => false));
        await change({ policy: "none" }, true);
        await expect.poll(() => tunnels.map(({ socket }) => socket.closed), { timeout: 1_000 }).toEqual(servers.map(() => true));
        await change(null);
        await expect.poll(answers, { timeout: 1_000 }).toEqual(servers.map(() => expect.stringContaining("200")));
        tunnels.splice(0, Infinity, ...(await Promise.all(servers.map((server) => tunnelThrough(server, address)))));

        expect((await two.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`)).status).toBe(200);
        await expect.poll(() => tunnels.map(({ socket }) => socket.closed)).toEqual(servers.map(() => true));
        for (const server of servers) expect((await tunnelThrough(server, address)).answer).toBe("closed");
        await two.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
      },
    );

    testWith(missingDouble, "losing a node pauses its sessions with their files, and a resume places them on another node", async () => {
      const { kubelet } = cluster.double!;
      const [one, two] = apis() as [ReturnType<typeof createApi>, ReturnType<typeof createApi>];
      const session = await one.create();
      const path = `/api/b2b/sessions/${session.sessionId}`;
      await one.exec(session.sandboxId, "echo kept > note");
      const node = kubelet.nodeOf(session.sandboxId.replace("_", "-"))!;
      kubelet.loseNode(node);
      await expect
        .poll(async () => (await two.call("GET", path)).body, { timeout: 30_000, interval: 200 })
        .toMatchObject({ status: "paused" });
      expect((await two.call("POST", `${path}/resume`, { autoStartAgent: false })).status).toBe(200);
      expect(kubelet.nodeOf(session.sandboxId.replace("_", "-"))).not.toBe(node);
      expect((await one.exec(session.sandboxId, "cat note")).stdout).toBe("kept\n");
      await one.call("DELETE", path);
    });

    describeWith(machine.chromium, "in the browser", () => {
      test("a terminal continues on another replica when its own is killed, and loses no output", async () => {
        const front = { ...servers[1]!, api: apis()[1]! };
        inFront = 0;
        await using workspace = await openWorkspace(front, await shareChromium());
        await typeInTerminal(workspace.page, "export KEPT=yes; (for i in $(seq 60); do echo line-$i; sleep 0.1; done)\n");
        await eventually(() => screenText(workspace.page)).toContain("line-5");
        await servers[0]!.kill();
        inFront = 1;
        await eventually(() => screenText(workspace.page)).toContain("line-60");
        const lines = (await screenText(workspace.page)).match(/^line-\d+$/gm) ?? [];
        expect(lines).toEqual(lines.map((_, i) => `line-${60 - lines.length + 1 + i}`));
        await typeInTerminal(workspace.page, "echo still-$KEPT\n");
        await eventually(() => screenText(workspace.page)).toContain("still-yes");
      });
    });
  });
}
