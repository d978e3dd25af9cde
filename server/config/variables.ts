import { DAY, MINUTE, SECOND } from "../clock.ts";
import { KEY_PATTERN } from "../api-key-format.ts";
import {
  anyText,
  days,
  domain,
  duration,
  flag,
  httpUrl,
  list,
  matching,
  oneOf,
  origin,
  postgresUrl,
  secretKey,
  wholeNumber,
  type Kind,
} from "./kinds.ts";

// Every setting, in one table: a new variable is one entry here. `Config`, the checks, the printed start-up values and the
// table in docs/configuration.md follow from it.
export interface Variable<T> {
  name: string;
  kind: Kind<T>;
  default: T;
  // What the default means, where the value alone does not say it.
  defaultHelp?: string;
  help: string;
  // An older or more general name that is read when `name` is absent.
  alias?: string;
  // Never printed, and also read from the file that `{name}_FILE` names, as secrets are mounted into containers.
  secret?: true;
}

export const VARIABLES = {
  host: variable({
    name: "BERTH_HOST",
    kind: matching(/^[\w.:-]+$/, "a host name or an IP address"),
    default: "127.0.0.1",
    help: "Address to listen on.",
  }),
  port: variable({
    name: "BERTH_PORT",
    alias: "PORT",
    kind: wholeNumber(0, 65_535),
    default: 8080,
    help: "Port to listen on; 0 takes a free one.",
  }),
  baseUrl: variable<string | null>({
    name: "BERTH_BASE_URL",
    kind: origin,
    default: null,
    defaultHelp: "http://localhost:{port}",
    help: "Address under which partners and browsers reach the service.",
  }),
  dataDir: variable({ name: "BERTH_DATA_DIR", kind: anyText, default: "./.berth", help: "Folder for the database, sandboxes and keys." }),
  databaseUrl: variable<string | null>({
    name: "BERTH_DATABASE_URL",
    kind: postgresUrl,
    default: null,
    defaultHelp: "SQLite in the data folder",
    secret: true,
    help: "PostgreSQL, when several servers share the work.",
  }),
  driver: variable({
    name: "BERTH_DRIVER",
    kind: oneOf("auto", "oci", "docker", "kubernetes", "process"),
    default: "auto",
    help: "How sandboxes are made; `auto` takes the first of oci, docker, process that works here.",
  }),
  ociRuntime: variable<"auto" | "runc" | "crun" | "runsc">({
    name: "BERTH_OCI_RUNTIME",
    kind: oneOf("auto", "runc", "crun", "runsc"),
    default: "auto",
    help: "What runs the containers of the driver oci; `auto` takes the first of runc, crun, runsc (gVisor) that works here.",
  }),
  sandboxImage: variable({
    name: "BERTH_SANDBOX_IMAGE",
    kind: matching(/^\S+$/, "an image's name"),
    default: "berth-sandbox:latest",
    help: "Image of sandboxes on docker and kubernetes, for templates that name none.",
  }),
  sandboxRuntime: variable<"mount" | "image">({
    name: "BERTH_SANDBOX_RUNTIME",
    kind: oneOf("mount", "image"),
    default: "mount",
    help: "Where docker sandboxes find the daemon: `mount` shows them the server's own, `image` expects it at /opt/berth in the image (needed when the server is itself in a container).",
  }),
  installation: variable<string | null>({
    name: "BERTH_INSTALLATION",
    kind: matching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "lowercase letters, digits and hyphens, at most 63"),
    default: null,
    defaultHelp: "from the data folder; `berth` on kubernetes",
    help: "Whose sandboxes are ours on an engine that several installations share.",
  }),
  dockerSocket: variable({
    name: "BERTH_DOCKER_SOCKET",
    kind: anyText,
    default: "/var/run/docker.sock",
    help: "Socket of the Docker Engine.",
  }),
  kubeconfig: variable<string | null>({
    name: "BERTH_KUBECONFIG",
    kind: anyText,
    default: null,
    defaultHelp: "what kubectl takes; inside a cluster the pod's account",
    help: "The cluster in which sandboxes are made.",
  }),
  kubernetesNamespace: variable<string | null>({
    name: "BERTH_KUBERNETES_NAMESPACE",
    kind: matching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "a namespace's name"),
    default: null,
    defaultHelp: "the server's own",
    help: "Namespace of the sandboxes.",
  }),
  kubernetesStorageClass: variable<string | null>({
    name: "BERTH_KUBERNETES_STORAGE_CLASS",
    kind: anyText,
    default: null,
    defaultHelp: "the cluster's default",
    help: "Storage class of the sandboxes' volumes.",
  }),
  kubernetesPullSecrets: variable<readonly string[]>({
    name: "BERTH_KUBERNETES_PULL_SECRETS",
    kind: list(anyText),
    default: [],
    defaultHelp: "none",
    help: "Secrets with which nodes fetch the sandboxes' images.",
  }),
  kubernetesUserNamespaces: variable({
    name: "BERTH_KUBERNETES_USER_NAMESPACES",
    kind: flag,
    default: false,
    help: "Give each pod a user namespace of its own (`hostUsers: false`); the nodes must be able to.",
  }),
  kubernetesWarmPools: variable<readonly string[]>({
    name: "BERTH_KUBERNETES_WARM_POOLS",
    kind: list(matching(/^[a-z0-9][a-z0-9-]{0,62}=[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "template=SandboxWarmPool")),
    default: [],
    defaultHelp: "none",
    help: "Templates whose sandboxes are taken out of agent-sandbox's own pools, each as template=SandboxWarmPool.",
  }),
  kubernetesNodeSelector: variable<readonly string[]>({
    name: "BERTH_KUBERNETES_NODE_SELECTOR",
    kind: list(matching(/^[\w./-]+=[\w.-]*$/, "label=value")),
    default: [],
    defaultHelp: "any node",
    help: "Labels of the nodes that sandboxes run on, each as label=value, such as kubernetes.io/arch=arm64.",
  }),
  kubernetesScheduleWaitMs: variable({
    name: "BERTH_KUBERNETES_SCHEDULE_WAIT",
    kind: duration(0, 10 * MINUTE),
    default: 10 * SECOND,
    help: "How long a pod may wait for a node before a create or resume is answered with 503; longer when an autoscaler is adding a node.",
  }),
  egressListen: variable<string | null>({
    name: "BERTH_EGRESS_LISTEN",
    kind: matching(/^.+:\d{1,5}$/, "host:port"),
    default: null,
    defaultHelp: "only Unix sockets",
    help: "Where the proxy for sandboxes on other machines listens (kubernetes).",
  }),
  egressAddress: variable<string | null>({
    name: "BERTH_EGRESS_ADDRESS",
    kind: matching(/^.+:\d{1,5}$/, "host:port"),
    default: null,
    defaultHelp: "no way out",
    help: "Under which address pods reach that proxy.",
  }),
  egressMasqueraded: variable({
    name: "BERTH_EGRESS_MASQUERADED",
    kind: flag,
    default: false,
    help: "Let a pod use that proxy from its node's address too, for networks that put the node's address in place of the pod's.",
  }),
  allowUnisolated: variable({
    name: "BERTH_ALLOW_UNISOLATED",
    kind: flag,
    default: false,
    help: "Let the process driver, which isolates nothing, serve other machines than this one.",
  }),
  templatesFile: variable<string | null>({
    name: "BERTH_TEMPLATES",
    kind: anyText,
    default: null,
    defaultHelp: "the built-in `default`",
    help: "File with sandbox templates, YAML or JSON.",
  }),
  poolSize: variable({
    name: "BERTH_POOL_SIZE",
    kind: wholeNumber(0, 1000),
    default: 2,
    help: "Warm sandboxes kept ready for each template.",
  }),
  maxSandboxes: variable<number | null>({
    name: "BERTH_MAX_SANDBOXES",
    kind: wholeNumber(1, 1_000_000),
    default: null,
    defaultHelp: "no limit",
    help: "Sandboxes that may be alive at once on this server; a create beyond it is 503, and so is the resume of a hibernated session. Warm sandboxes give way to either.",
  }),
  apiKey: variable<string | null>({
    name: "BERTH_API_KEY",
    kind: matching(KEY_PATTERN, "`berth_` and 64 lowercase hexadecimal characters"),
    default: null,
    defaultHelp: "made at the first start",
    secret: true,
    help: "Key of the partner `demo`.",
  }),
  masterKeys: variable<readonly Buffer[] | null>({
    name: "BERTH_MASTER_KEY",
    kind: list(secretKey),
    default: null,
    defaultHelp: "made in the data folder",
    secret: true,
    help: "Encrypts what is stored and signs launch URLs. Several with commas between, newest first: the first is used, the others still open what they closed. Required with PostgreSQL.",
  }),
  launchTtlMs: variable({
    name: "BERTH_LAUNCH_TTL",
    kind: duration(1 * SECOND, 1 * DAY),
    default: 5 * MINUTE,
    help: "How long a launch URL can be opened.",
  }),
  timeoutAction: variable<"pause" | "destroy">({
    name: "BERTH_TIMEOUT_ACTION",
    kind: oneOf("pause", "destroy"),
    default: "pause",
    help: "What happens to a session when its timeout elapses.",
  }),
  hibernateAfterMs: variable({
    name: "BERTH_HIBERNATE_AFTER",
    kind: duration(0, 365 * DAY),
    default: 10 * MINUTE,
    help: "When a paused session gives its memory back (its files stay); 0 is at once.",
  }),
  pausedMs: variable({
    name: "BERTH_PAUSED_DAYS",
    kind: days(3650),
    default: 30 * DAY,
    defaultHelp: "30",
    help: "Days until a paused session is destroyed.",
  }),
  tombstoneMs: variable({
    name: "BERTH_TOMBSTONE_DAYS",
    kind: days(3650),
    default: 30 * DAY,
    defaultHelp: "30",
    help: "Days that a destroyed session can still be read.",
  }),
  ratePerMinute: variable({
    name: "BERTH_RATE_LIMIT",
    kind: wholeNumber(0, 10_000_000),
    default: 6000,
    help: "Requests a minute for each key; 0 is no limit. A partner may have its own.",
  }),
  previewDomain: variable<string | null>({
    name: "BERTH_PREVIEW_DOMAIN",
    kind: domain,
    default: null,
    defaultHelp: "localhost:{port} on localhost, otherwise no previews",
    help: "Domain for web servers running in sandboxes: {port}-{sandbox}.{domain}. Must be another site than the base URL.",
  }),
  egressAllow: variable<readonly string[]>({
    name: "BERTH_EGRESS_ALLOW",
    kind: list(anyText),
    default: [],
    defaultHelp: "none",
    help: "Private addresses that sandboxes may reach after all: hosts, addresses or networks (10.1.0.0/16), with an optional :port.",
  }),
  webhookAllowPrivate: variable({
    name: "BERTH_WEBHOOK_ALLOW_PRIVATE",
    kind: flag,
    default: false,
    help: "Let webhooks go to private addresses.",
  }),
  metricsToken: variable<string | null>({
    name: "BERTH_METRICS_TOKEN",
    kind: matching(/^\S{16,}$/, "at least 16 characters without spaces"),
    default: null,
    defaultHelp: "only this machine, and nobody when the base URL is public",
    secret: true,
    help: "Bearer token for /metrics.",
  }),
  logLevel: variable({
    name: "BERTH_LOG_LEVEL",
    kind: oneOf("debug", "info", "warn", "error", "silent"),
    default: "info",
    help: "How much is logged.",
  }),
  modelProvider: variable<"anthropic" | "openai" | null>({
    name: "BERTH_MODEL_PROVIDER",
    kind: oneOf("anthropic", "openai"),
    default: null,
    defaultHelp: "no model relay",
    help: "The kind of model that agents in sandboxes may use through the server, without seeing its key.",
  }),
  modelBaseUrl: variable<string | null>({
    name: "BERTH_MODEL_BASE_URL",
    kind: httpUrl,
    default: null,
    defaultHelp: "the provider's own",
    help: "Address of the model's API.",
  }),
  modelApiKey: variable<string | null>({
    name: "BERTH_MODEL_API_KEY",
    kind: anyText,
    default: null,
    defaultHelp: "none",
    secret: true,
    help: "Key for the model's API. It never enters a sandbox.",
  }),
  modelName: variable<string | null>({
    name: "BERTH_MODEL_NAME",
    kind: anyText,
    default: null,
    defaultHelp: "the agent's choice",
    help: "Model that agents use.",
  }),
  modelTokenCap: variable<number | null>({
    name: "BERTH_MODEL_TOKEN_CAP",
    kind: wholeNumber(1, 1_000_000_000_000),
    default: null,
    defaultHelp: "no limit",
    help: "Tokens that one session may use.",
  }),
  modelMaxBodyMb: variable({
    name: "BERTH_MODEL_MAX_BODY_MB",
    kind: wholeNumber(1, 64),
    default: 4,
    help: "Size of the largest request to the model, in MiB. Each sandbox has one in memory at a time.",
  }),
  modelRatePerMinute: variable({
    name: "BERTH_MODEL_RATE_LIMIT",
    kind: wholeNumber(0, 1_000_000),
    default: 300,
    help: "Requests a minute of each sandbox to the model, refused ones included; 0 is no limit. A sandbox may also send 32 times the largest body in a minute.",
  }),
};

// The kind decides the type; the default only has to be one of it.
function variable<T>(entry: Omit<Variable<T>, "default"> & { default: NoInfer<T> }): Variable<T> {
  return entry;
}
