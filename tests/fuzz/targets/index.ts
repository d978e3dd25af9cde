import type { BerthWorld } from "../berth-world.ts";
import type { AnyTarget } from "../target.ts";
import { daemon } from "./daemon.ts";
import { e2b } from "./e2b.ts";
import { egressClient, egressHello, egressUpstream } from "./egress.ts";
import { gateway } from "./gateway.ts";
import { modelClient, modelUpstream } from "./model.ts";
import { partnerApi } from "./partner-api.ts";
import { webhooks } from "./webhooks.ts";

const TARGETS = [partnerApi, gateway, e2b, daemon, egressClient, egressHello, egressUpstream, modelClient, modelUpstream, webhooks];

export const createTargets = (world: BerthWorld): AnyTarget[] => TARGETS.map((create) => create(world));
