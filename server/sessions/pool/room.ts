import type { Driver } from "../../drivers/driver.ts";
import type { Store } from "../../store/open.ts";
import { sessionsInState } from "../../store/sessions/read.ts";
import type { Blank, Site } from "../../store/sessions/session.ts";
import type { Kind } from "../sandbox-spec.ts";
import type { Transitions } from "../states/transitions.ts";
import { isOfKind } from "./fill-plan.ts";

// Blanks give way to callers that find no room. A blank of the kind that a create wants is promised to that create, as soon as it has room;
// the others are evicted. There is at most one promise for each blank: a create without one is refused at once, and does not wait for the end
// of a start from which another create profits.
export interface Room {
  // For a resume. True if a blank was evicted.
  make(): Promise<boolean>;
  // Dispose of the result when the create is over.
  seek(kind: Kind): RoomSearch;
}

export interface RoomSearch extends Disposable {
  // `claim`: a blank of this kind is warm or about to be, and promised to this create. `start`: a blank of another kind was evicted, so there is
  // room for a sandbox. null: no blank holds room.
  make(): Promise<"claim" | "start" | null>;
  // The same while the create's sandbox still waits for room, so that it can start without another try. `make` has the result if the create is
  // refused too early for that.
  makeEarly(): Promise<void>;
  // The create has room, so its promise ends.
  end(): void;
  // How many warm sandboxes of the kind were promised to other creates.
  promised(): number;
}

export interface RoomDeps {
  store: Store;
  transitions: Pick<Transitions, "isOwn">;
  driver: Pick<Driver, "roomOf">;
  site: Site;
  // True if its room is free now.
  evict(blank: Blank): Promise<boolean>;
}

// An engine may need this long to give free room to a sandbox that waits for it.
const SETTLE_MS = 2_000;

export function createRoom({ store, transitions, driver, site, evict }: RoomDeps): Room {
  const promises = new Map<string, number>();
  const keyOf = ({ template, templateHash }: Kind) => `${template.name} ${templateHash}`;

  // A blank that waits for room itself is of no use to the caller.
  const holdsRoom = ({ state, sandboxId }: Blank) => state === "warm" || !driver.roomOf || driver.roomOf(sandboxId) === "given";

  const findBlanks = async () => (await sessionsInState(store.db, site, ["warm", "warming"])).filter(holdsRoom);

  // Warm ones first: they hold memory for certain.
  async function evictOne(blanks: readonly Blank[]): Promise<boolean> {
    for (const blank of blanks.toSorted((a, b) => a.state.localeCompare(b.state))) if (await evict(blank)) return true;
    return false;
  }

  // Another server may promise the blank that it is creating, so it is evicted like those of other kinds.
  const isClaimable = (blank: Blank, kind: Kind) =>
    isOfKind(blank, kind) && (blank.state === "warm" || (blank.state === "warming" && transitions.isOwn(blank.lease)));

  function seek(kind: Kind): RoomSearch {
    const key = keyOf(kind);
    let isPromised = false;
    let making: Promise<"claim" | "start" | null> | undefined;
    let evictedAtMs = -Infinity;
    let isOver = false;
    const promised = () => (promises.get(key) ?? 0) - Number(isPromised);

    function promise(): void {
      if (isOver || isPromised) return;
      promises.set(key, (promises.get(key) ?? 0) + 1);
      isPromised = true;
    }

    function release(): void {
      if (!isPromised) return;
      promises.set(key, promised());
      isPromised = false;
    }

    async function makeNow(): Promise<"claim" | "start" | null> {
      const blanks = await findBlanks();
      const claimable = blanks.filter((blank) => isClaimable(blank, kind));
      if (claimable.length > promised()) promise();
      else release();
      if (isPromised) return "claim";
      return (await evictOne(blanks.filter((blank) => !claimable.includes(blank)))) ? "start" : null;
    }

    return {
      make() {
        if (performance.now() - evictedAtMs < SETTLE_MS) {
          evictedAtMs = -Infinity;
          return Promise.resolve("start");
        }
        return making ?? makeNow();
      },
      async makeEarly() {
        making = makeNow().finally(() => (making = undefined));
        if ((await making) === "start") evictedAtMs = performance.now();
      },
      end: release,
      promised,
      [Symbol.dispose]() {
        isOver = true;
        release();
      },
    };
  }

  return { make: async () => evictOne(await findBlanks()), seek };
}
