// Subscriptions that plots share. Lines of one kind of records of a channel that are opened together are fields of one query, so that twelve plots
// cost the source one query.

import { extremes, query } from "./address.js";
import { ask } from "./link.js";
import { fresh } from "./recorded.js";

const MOST = 32; // fields of a query
const LONG = 4096; // bytes of a query, which the language allows
const THIN = 10; // milliseconds of which a fast source sends the least and the greatest number

const joinable = new Map(); // those that more fields may join, until the present task of the page ends

export class Shared {
  constructor(place, isThin) {
    Object.assign(this, { id: fresh(), place, isThin, paths: [], plots: 0 });
  }

  /** A subscription to these fields, and perhaps more, of records of a place: what is called alike may be shared. */
  static join(name, place, isThin, paths) {
    const key = `${isThin} ${name}`;
    let shared = joinable.get(key);
    if (!shared?.hasRoom(paths)) {
      shared = new Shared(place, isThin);
      joinable.set(key, shared);
      queueMicrotask(() => shared.begin(key));
    }
    shared.paths = shared.with(paths);
    shared.plots += 1;
    return shared;
  }

  /** A subscription to these fields that no other plot has. */
  static alone(place, isThin, paths) {
    const shared = new Shared(place, isThin);
    [shared.paths, shared.plots] = [paths, 1];
    queueMicrotask(() => shared.begin());
    return shared;
  }

  with(paths) {
    return [...new Set([...this.paths, ...paths])];
  }

  hasRoom(paths) {
    const all = this.with(paths);
    return all.length <= MOST && bytes(queryOf(all, this.isThin)) <= LONG;
  }

  begin(key) {
    if (joinable.get(key) === this) joinable.delete(key);
    this.hasBegun = this.plots > 0;
    if (!this.hasBegun) return;
    const want = this.paths.map((_, index) => ({ path: `c${index}`, array: false, ...(this.isThin ? { greatest: `d${index}` } : {}) }));
    ask("subscribe", { id: this.id, place: this.place, query: queryOf(this.paths, this.isThin), want });
  }

  /** A plot needs it no more. */
  leave() {
    this.plots -= 1;
    if (this.plots === 0 && this.hasBegun) ask("unsubscribe", { id: this.id });
  }

  /** Where it has a field. */
  column(path) {
    return this.paths.indexOf(path);
  }
}

const bytes = (text) => new TextEncoder().encode(text).length;
const queryOf = (paths, isThin) => (isThin ? extremes(paths, THIN) : query(paths));
