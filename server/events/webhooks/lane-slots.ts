// How many lanes may be sending at the same time. A receiver can hold its lane for as long as an attempt lasts, so
// every level has its own share.

// All partners together, except that every partner may always have one.
export const LANES_AT_ONCE = 64;
export const LANES_PER_PARTNER = 8;
export const LANES_PER_ENDPOINT = 4;
// After a failure an endpoint gets one lane until it succeeds, so that a partner's hanging receivers leave room for its
// other ones.
export const LANES_PER_FAILING_ENDPOINT = 1;

export interface LaneSlots {
  hasRoom(endpoint: LaneEndpoint): boolean;
  // Lanes of the partner that are sending.
  ofPartner(partnerId: string): number;
  // Takes a slot, room or not; returns the function that gives it back.
  take(endpoint: LaneEndpoint): () => void;
}

export interface LaneEndpoint {
  id: string;
  partner_id: string;
  failing_since: number | null;
}

export function createLaneSlots(): LaneSlots {
  const partners = new Map<string, number>();
  const endpoints = new Map<string, number>();
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
      add(partners, partner_id, 1);
      add(endpoints, id, 1);
      return () => {
        total--;
        add(partners, partner_id, -1);
        add(endpoints, id, -1);
      };
    },
  };
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
