/**
 * Which numbers of an update travel, and where each stands in the vector (docs/wire.md, "The vector"). Places
 * depend on the declaration, the items on offer and the round alone: neither they nor lengths tell of a person.
 */

import type { MessageSpec, TableSpec, Update } from "../message/declaration.ts";
import type { ItemFeatures } from "../methods/item_features.ts";
import { Purpose, Rng } from "../numerics/philox.ts";
import { DeviceError } from "../device/types.ts";
import type { ChannelSettings } from "./settings.ts";

/** What everybody knows of a federation. */
export interface FederationInfo {
  items: number;
  listed: readonly number[]; // ascending
  clients: number;
  interactions: number;
  people: number; // most on one device
  counts: readonly number[] | null; // how often each item occurs, where that is public
  featureCount?: number; // of the items, where they have any
  features?: ItemFeatures; // where the method uses them
}

/** The numbers of one vector that are not zero: where, ascending, and how much. */
export interface SparseVector {
  place: number[];
  value: number[];
}

export class VectorLayout {
  readonly words: number;

  private constructor(
    readonly sends: MessageSpec,
    private readonly items: readonly number[], // what item tables are a block of, ascending
    private readonly half: boolean,
  ) {
    const tables = sends.tables.reduce((sum, one) => sum + this.rows(one) * one.width, 0);
    this.words = 1 + sends.scalars.length + tables;
  }

  /** Blocks are for what repeats; an exchange of the opening travels whole. */
  static of(settings: ChannelSettings, sends: MessageSpec, repeats: boolean, info: FederationInfo): VectorLayout {
    let items = info.listed;
    if (settings.block === "core" && repeats) {
      const { counts } = info;
      if (counts === null) throw new DeviceError("block 'core' needs public counts of the items, but has none.");
      items = items.filter((item) => counts[item]! >= settings.core);
    }
    return new VectorLayout(sends, items, settings.block === "half" && repeats);
  }

  /** How many rows of a table travel. */
  rows(one: TableSpec): number {
    if (one.space !== "item") return one.rows;
    return this.half ? (this.items.length + 1) >> 1 : this.items.length;
  }

  /** Every table, and where it begins and ends in the vector. */
  slices(): { table: TableSpec; start: number; end: number }[] {
    let at = 1 + this.sends.scalars.length;
    return this.sends.tables.map((table) => ({ table, start: at, end: (at += this.rows(table) * table.width) }));
  }

  /** The items of a round, ascending: all of the block, or its public half, drawn from the round alone. */
  block(round: number): readonly number[] {
    if (!this.half) return this.items;
    const n = this.items.length;
    return new Rng([0, 0], round)
      .stream(Purpose.BLOCK)
      .choose(n, (n + 1) >> 1)
      .map((place) => this.items[place]!);
  }

  /** The numbers of the update that travel; rows outside the block are dropped. */
  device(update: Update, round: number): SparseVector {
    const sent: SparseVector = { place: [], value: [] };
    const put = (place: number, value: number) => {
      if (value === 0) return;
      sent.place.push(place);
      sent.value.push(value);
    };
    this.sends.scalars.forEach((name, n) => put(1 + n, update.scalars[name]!));
    const places = new Map(this.block(round).map((item, place) => [item, place]));
    for (const { table, start } of this.slices()) {
      const { index, values } = update.tables[table.name]!;
      index.forEach((row, n) => {
        const at = table.space === "item" ? places.get(row) : row;
        for (let k = 0; at !== undefined && k < table.width; k++) {
          put(start + at * table.width + k, values[n * table.width + k]!);
        }
      });
    }
    return sent;
  }
}
