import { addCount, type HolderCounts } from "../../../fairness/holder-counts.ts";

// Limits how many lanes send at the same time. A receiver can occupy a lane for as long as an attempt lasts, so there is a limit
// for all partners, for each partner and for each endpoint.

// A partner without a lane always gets one, even beyond this.
export const LANES_AT_ONCE = 64;
export const LANES_PER_PARTNER = 8;
export const LANES_PER_ENDPOINT = 4;
// Until it succeeds again, so that receivers that hang leave lanes for the partner's other endpoints.
export const LANES_PER_FAILING_ENDPOINT = 1;

export interface LaneSlots {
  hasRoom(endpoint: LaneEndpoint): boolean;
  // The number of lanes of the partner that are sending.
  ofPartner(partnerId: string): number;
  // Takes a slot unconditionally. Returns a function that frees it.
  take(endpoint: LaneEndpoint): () => void;
}

export interface LaneEndpoint {
  id: string;
  partner_id: string;
  failing_since: number | null;
}

export function createLaneSlots(): LaneSlots {
  const partners: HolderCounts<string> = new Map();
  const endpoints: HolderCounts<string> = new Map();
  let total = 0;

  const ofPartner = (id: string): number => partners.get(id) ?? 0;

  return {
    ofPartner,
    hasRoom({ id, partner_id, failing_since }) {
      const partner = ofPartner(partner_id);
      if (partner > 0 && total >= LANES_AT_ONCE) return false;
      const share = failing_since === null ? LANES_PER_ENDPOINT : LANES_PER_FAILING_ENDPOINT;
      return partner < LANES_PER_PARTNER && (endpoints.get(id) ?? 0) < share;
    },
    take({ id, partner_id }) {
      total++;
      addCount(partners, partner_id, 1);
      addCount(endpoints, id, 1);
      return () => {
        total--;
        addCount(partners, partner_id, -1);
        addCount(endpoints, id, -1);
      };
    },
  };
}
