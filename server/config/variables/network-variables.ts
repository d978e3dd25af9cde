import { destination, domain, flag, list, matching, wholeNumber } from "../kinds.ts";
import { variable } from "../variable.ts";

export const NETWORK_VARIABLES = {
  previewDomain: variable<string | null>({
    name: "BERTH_PREVIEW_DOMAIN",
    kind: domain,
    default: null,
    defaultHelp: "localhost:{port} if the base URL is on localhost, otherwise no previews",
    help: "Domain for previews of web servers in sandboxes, which open at {port}-{sandbox}.{domain}. Use another site than the base URL, because previews run untrusted code.",
  }),
  maxShareHours: variable({
    name: "BERTH_PREVIEW_SHARE_HOURS",
    kind: wholeNumber(0, 168),
    default: 24,
    help: "The most hours for which the user of a workspace may share the preview of a port by a link. `0` turns sharing off.",
  }),
  egressAllow: variable<readonly string[]>({
    name: "BERTH_EGRESS_ALLOW",
    kind: list(destination),
    default: [],
    defaultHelp: "none",
    help: "Private destinations that sandboxes may reach, separated by commas: host names, addresses or networks such as `10.1.0.0/16`, each with an optional `:port`. The server itself stays out of reach.",
  }),
  egressListen: variable<string | null>({
    name: "BERTH_EGRESS_LISTEN",
    kind: matching(/^.+:\d{1,5}$/, "host:port"),
    default: null,
    defaultHelp: "Unix sockets only",
    help: "Address and port on which the egress proxy listens for sandboxes on other machines. Needed for egress with the kubernetes driver.",
  }),
  egressAddress: variable<string | null>({
    name: "BERTH_EGRESS_ADDRESS",
    kind: matching(/^.+:\d{1,5}$/, "host:port"),
    default: null,
    defaultHelp: "pods have no egress",
    help: "Address and port at which pods reach the egress proxy.",
  }),
  egressMasqueraded: variable({
    name: "BERTH_EGRESS_MASQUERADED",
    kind: flag,
    default: false,
    help: "Also accept a pod's connections to the egress proxy from the address of its node. Needed where the network masquerades pod addresses.",
  }),
  webhookAllowPrivate: variable({
    name: "BERTH_WEBHOOK_ALLOW_PRIVATE",
    kind: flag,
    default: false,
    help: "Allow webhooks to private addresses.",
  }),
};
