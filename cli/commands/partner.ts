import { Command, Option } from "commander";
import { TIMEOUT_ACTIONS, type TimeoutAction } from "@berth/contract";
import type { Branding } from "@berth/contract/workspace/workspace.ts";
import {
  createPartner,
  getPartner,
  listPartners,
  NO_BRANDING,
  updatePartner,
  type Partner,
  type PartnerChanges,
} from "@berth/server/keys/partners.ts";
import { describeMs } from "@berth/server/config/kinds.ts";
import { issueKey } from "@berth/server/keys/keys.ts";
import { countLiveSessions } from "@berth/server/store/partners/delete-partner.ts";
import { parseIdleTimeout, parseLimit, parseMaxTimeout, parseOrigins, parsePartnerId, type Limit } from "../arguments.ts";
import { withStore } from "../context.ts";
import { changedBranding, parseAccent, parseLogo, type BrandingOptions } from "../partners/branding.ts";
import { deletePartner } from "../partners/delete-partner.ts";
import { confirm } from "../terminal/confirm.ts";
import { clean, facts, isoOf, orDash, relative, show, state, table } from "../terminal/output.ts";
import { issuedKeyJson, newKeyText } from "./key.ts";

interface Options extends BrandingOptions {
  json?: boolean;
  yes?: boolean;
  name?: string;
  origin?: string[];
  maxSessions?: Limit;
  maxSessionsPerUser?: Limit;
  rate?: Limit;
  idleTimeout?: Limit;
  autoResume?: "yes" | "no";
  onTimeout?: TimeoutAction | "none";
  maxTimeout?: Limit;
}

export const command = build();

function build(): Command {
  const group = new Command();
  group.addCommand(
    withSettings(new Command("create"))
      .description("create a partner and its first key")
      .argument("<id>", "short name, shown in launch URLs", parsePartnerId)
      .action(create),
  );
  group.command("list").description("list all partners").option("--json", "print JSON").action(list);
  group.addCommand(withSettings(new Command("update")).description("change a partner").argument("<id>").action(update));
  group
    .command("suspend <id>")
    .description("reject all keys of a partner; its sessions stay unchanged")
    .option("--json", "print JSON")
    .action((id: string, options: Options) => setState(id, "suspended", options));
  group
    .command("activate <id>")
    .description("reactivate a suspended partner")
    .option("--json", "print JSON")
    .action((id: string, options: Options) => setState(id, "active", options));
  const remove = new Command("delete")
    .description("delete a partner with its sessions, files, keys and webhooks")
    .argument("<id>")
    .option("--yes", "do not ask for confirmation")
    .option("--json", "print JSON");
  group.addCommand(remove.action((id: string, options: Options) => removePartner(id, options, remove)));
  return group;
}

function withSettings(settable: Command): Command {
  return settable
    .option("--name <name>", "full name")
    .option("--origin <origin>", "site that may embed the workspace; repeat for several, `none` for no site", parseOrigins)
    .option("--max-sessions <n>", "maximum number of live sessions, or `none` for no limit", parseLimit)
    .option("--max-sessions-per-user <n>", "maximum number of live sessions per user, or `none`", parseLimit)
    .option("--rate <n>", "requests per minute for each key, 0 for no limit, `none` for the server's default", parseLimit)
    .option("--idle-timeout <time>", "pause sessions that were not used for this long, such as 30m, or `none`", parseIdleTimeout)
    .addOption(new Option("--auto-resume <choice>", "resume paused sessions when someone opens them").choices(["yes", "no"]))
    .addOption(new Option("--on-timeout <action>", "what the timeout of sessions does").choices([...TIMEOUT_ACTIONS, "none"]))
    .option("--max-timeout <time>", "how long users may keep a session running, such as 8h, or `none`", parseMaxTimeout)
    .option("--logo <file>", "image beside the name in the workspace, or `none`", parseLogo)
    .option("--accent <colour>", "colour of buttons and links in the workspace, such as #7c3aed, or `none`", parseAccent)
    .addOption(new Option("--hide-agent <choice>", "hide the agent in the workspace").choices(["yes", "no"]))
    .addOption(new Option("--offer-ssh <choice>", "offer VS Code and SSH in the workspace").choices(["yes", "no"]))
    .option("--json", "print JSON");
}

async function create(id: string, options: Options): Promise<void> {
  await withStore(async ({ change, clock }) => {
    const [partner, key] = await change(async (tx, note) => {
      const made = await createPartner(tx, clock, id, changesOf(options, NO_BRANDING));
      const issued = await issueKey(tx, clock, id);
      await note("partner.create", id, id);
      await note("key.issue", id, issued.id);
      return [made, issued] as const;
    });
    show(options, { ...partnerJson(partner), key: issuedKeyJson(key) }, () => `${partnerText(partner)}\n${newKeyText(key)}`);
  });
}

async function list(options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const partners = await listPartners(store.db);
    show(options, partners.map(partnerJson), () =>
      table(
        partners,
        [
          { name: "partner", value: (partner) => partner.id },
          { name: "name", value: (partner) => clean(partner.name) },
          { name: "state", value: (partner) => state(partner.state) },
          { name: "sessions", value: (partner) => orDash(partner.maxSessions), right: true },
          { name: "per user", value: (partner) => orDash(partner.maxSessionsPerUser), right: true },
          { name: "rate/min", value: (partner) => orDash(partner.ratePerMinute), right: true },
          { name: "created", value: (partner) => relative(partner.createdAt) },
          { name: "origins", value: (partner) => orDash(partner.origins.join(" ")) },
        ],
        "No partners yet. Create one with: berth partner create acme",
      ),
    );
  });
}

async function update(id: string, options: Options): Promise<void> {
  await save(id, ({ branding }) => changesOf(options, branding), "partner.update", options);
}

async function setState(id: string, to: Partner["state"], options: Options): Promise<void> {
  await save(id, () => ({ state: to }), to === "suspended" ? "partner.suspend" : "partner.activate", options);
}

async function save(id: string, changesTo: (before: Partner) => PartnerChanges, action: string, options: Options): Promise<void> {
  await withStore(async ({ change }) => {
    const partner = await change(async (tx, note) => {
      const updated = await updatePartner(tx, id, changesTo(await getPartner(tx, id)));
      await note(action, id, id);
      return updated;
    });
    show(options, partnerJson(partner), () => partnerText(partner));
  });
}

async function removePartner(id: string, options: Options, command: Command): Promise<void> {
  await withStore(async (context) => {
    await getPartner(context.store.db, id);
    const live = await countLiveSessions(context.store.db, id);
    if (!options.yes)
      await confirm(`This deletes the partner ${id}: ${live} live sessions with all their files, its keys, webhooks and events.`, command);
    const { waiting } = await deletePartner(context, id);
    if (waiting > 0)
      throw new Error(
        `The partner ${id} is suspended, and ${waiting} of its sessions wait for a server to destroy them. Start the server and run this command again.`,
      );
    show(options, { id, deleted: true }, () => `The partner ${id} is deleted. Its entries in the audit log stay.\n`);
  });
}

const changesOf = (options: Options, branding: Branding): PartnerChanges => ({
  name: options.name,
  origins: options.origin,
  branding: changedBranding(branding, options),
  maxSessions: numberOf(options.maxSessions),
  maxSessionsPerUser: numberOf(options.maxSessionsPerUser),
  ratePerMinute: numberOf(options.rate),
  idleTimeoutMs: numberOf(options.idleTimeout),
  autoResume: options.autoResume && options.autoResume === "yes",
  onTimeout: options.onTimeout === "none" ? null : options.onTimeout,
  maxTimeoutMs: numberOf(options.maxTimeout),
});

const numberOf = (limited: Limit | undefined) => (limited === "none" ? null : limited);

const partnerJson = (partner: Partner) => ({ ...partner, createdAt: isoOf(partner.createdAt) });

const partnerText = (partner: Partner) =>
  facts([
    ["partner", partner.id],
    ["name", clean(partner.name, 100)],
    ["state", state(partner.state)],
    ["origins", orDash(partner.origins.join(" "))],
    ["branding", brandingText(partner.branding)],
    ["live sessions", partner.maxSessions === null ? "no limit" : `at most ${partner.maxSessions}`],
    ["per user", partner.maxSessionsPerUser === null ? "no limit" : `at most ${partner.maxSessionsPerUser}`],
    ["requests", partner.ratePerMinute === null ? "the server's default" : `${partner.ratePerMinute} per minute for each key`],
    ["idle sessions", partner.idleTimeoutMs === null ? "run until their timeout" : `are paused after ${describeMs(partner.idleTimeoutMs)}`],
    ["paused sessions", partner.autoResume ? "are resumed when someone opens them" : "are resumed by the partner"],
    ["after the timeout", partner.onTimeout === null ? "the server's default" : partner.onTimeout],
    ["support", partner.supportAccess ? "may look at workspaces" : "may not look at workspaces"],
    ["users may extend", partner.maxTimeoutMs === null ? "never" : `up to ${describeMs(partner.maxTimeoutMs)}`],
  ]);

const brandingText = ({ logo, accent, hideAgent, offerSsh }: Branding): string =>
  [logo && "own logo", accent, hideAgent && "agent hidden", offerSsh && "SSH offered"].filter(Boolean).join(", ") || "Berth's own";
