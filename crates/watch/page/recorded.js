// Parts of a recording: which of them a picture needs, and the subscriptions that bring them.

import { ask } from "./link.js";

let subscriptions = 0;

/** The number of a subscription that was not used before. */
export const fresh = () => ++subscriptions;

/** What is loaded of a recording for some groups of fields. While a part is on its way, the picture shows the one before. */
export class Part {
  /** `make` gives the groups, each with the text that subscribes to it but for the part. `came` is called when another part is there. */
  constructor({ first, last }, make, came) {
    Object.assign(this, { first, last, make, came, groups: [], loaded: null, coming: null });
  }

  /** Asks for the times that lines show, unless they are there, finely enough. */
  needSpan(from, to, points) {
    const span = to - from;
    const inside = (time) => Math.min(Math.max(time, this.first), this.last);
    const { loaded } = this;
    const isThere = loaded && loaded.from <= inside(from) && loaded.to >= inside(to) && loaded.to - loaded.from <= 6 * span && loaded.points >= points;
    if (isThere || this.coming) return;
    // With some more on both sides, for who moves on.
    this.load({ from: inside(from - span), to: inside(to + span), points: Math.min(Math.ceil(points), 2048) * 3 }, points);
  }

  /** Asks for the last records up to a time. */
  needAt(at) {
    if (this.loaded?.at === at || this.coming) return;
    this.load({ at });
  }

  load(part, points) {
    const groups = this.make();
    this.coming = { ...part, points, groups, waiting: new Set(groups.map(({ id }) => id)) };
    groups.forEach(({ id, wish, want }) => ask("subscribe", { id, ...wish, ...part, want }));
    // At first there is nothing else to show.
    if (this.groups.length === 0) this.groups = groups;
  }

  /** All of a subscription has come: whether it is one of these. */
  complete(id) {
    if (!this.coming?.waiting.delete(id)) return false;
    if (this.coming.waiting.size > 0) return true;
    const before = this.groups;
    [this.loaded, this.groups, this.coming] = [this.coming, this.coming.groups, null];
    if (before !== this.groups) before.forEach((group) => ask("unsubscribe", { id: group.id }));
    this.came();
    return true;
  }

  has(id) {
    return this.groups.some((group) => group.id === id) || this.coming?.waiting.has(id);
  }

  end() {
    new Set([...this.groups, ...(this.coming?.groups ?? [])]).forEach(({ id }) => ask("unsubscribe", { id }));
    [this.groups, this.loaded, this.coming] = [[], null, null];
  }
}
