/** A file of one's own likes: MovieLens, Netflix or another table. Read here; what is in it goes nowhere. */

import { DeviceError, type Label, type Like } from "../device/types.ts";
import { texts } from "./texts.ts";
import type { Titles } from "./titles.ts";

const LARGEST = 20; // MB
const LIKED = 4; // of ratings up to 5
const ITEM = ["item", "itemid", "movieid", "item_id", "movie_id", "movie", "id"];
const NAME = ["title", "name", "film"];
const TIME = ["timestamp", "time", "date"];
const said = texts.errors.file;

interface Columns {
  user: number;
  item: number;
  name: number;
  value: number;
  time: number;
}

export interface OwnRows {
  likes: Like[];
  rows: number; // that are likes, known here or not
  note: string;
}

export async function readOwnFile(
  file: File,
  titles: Titles,
  find: (labels: Label[]) => (number | null)[],
): Promise<OwnRows> {
  if (file.size > LARGEST * 1e6) throw new DeviceError(said.large(LARGEST));
  return ownRows(await file.text(), titles, find);
}

export function ownRows(text: string, titles: Titles, find: (labels: Label[]) => (number | null)[]): OwnRows {
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .filter((line) => line.trim());
  if (!lines.length) throw new DeviceError(said.empty);
  const separator = ["::", "\t", ";", ","].find((one) => lines[0]!.includes(one)) ?? ""; // a list of titles has none
  const cells = lines.map((line) => split(line, separator));
  const { columns, first } = layout(cells[0]!);
  const rows = cells.slice(first);
  if (!rows.length) throw new DeviceError(said.empty);
  const people = columns.user < 0 ? 1 : new Set(rows.map((row) => row[columns.user])).size;
  if (people > 1) throw new DeviceError(said.people(people));
  const rated = columns.value >= 0 && rows.some((row) => Number(row[columns.value]) > 1);
  const liked = rows.filter((row) => !rated || Number(row[columns.value]) >= LIKED);
  const items =
    columns.name >= 0
      ? liked.map((row) => titles.find(row[columns.name] ?? ""))
      : find(liked.map((row) => row[columns.item] ?? ""));
  const likes = new Map<number, Like>();
  items.forEach((item, place) => {
    if (item !== null) likes.set(item, { item, value: 1, time: moment(liked[place]![columns.time]) });
  });
  if (!likes.size) throw new DeviceError(said.unknown);
  return { likes: [...likes.values()], rows: liked.length, note: rated ? said.rated(LIKED) : "" };
}

/** Where things stand: by the header, or as MovieLens has them where there is none. */
function layout(header: string[]): { columns: Columns; first: number } {
  const names = header.map((one) => one.trim().toLowerCase()),
    at = (some: string[]) => names.findIndex((one) => some.includes(one));
  const columns = {
    user: at(["user", "userid", "user_id"]),
    item: at(ITEM),
    name: at(NAME),
    value: at(["rating", "value", "stars"]),
    time: at(TIME),
  };
  if (columns.item >= 0 || columns.name >= 0) return { columns, first: 1 };
  const numbers = header.every((one) => one.trim() !== "" && Number.isFinite(Number(one)));
  if (numbers && header.length >= 3)
    return { columns: { user: 0, item: 1, name: -1, value: 2, time: header.length > 3 ? 3 : -1 }, first: 0 };
  if (header.length === 1) return { columns: { user: -1, item: -1, name: 0, value: -1, time: -1 }, first: 0 };
  throw new DeviceError(said.columns(header.join(", ").slice(0, 80)));
}

/** The cells of a line; quotes as in CSV. */
function split(line: string, separator: string): string[] {
  if (separator === "::" || separator === "\t") return line.split(separator);
  const cells: string[] = [];
  let cell = "",
    quoted = false;
  for (let place = 0; place < line.length; place++) {
    const one = line[place]!;
    if (one === '"' && quoted && line[place + 1] === '"') cell += line[++place];
    else if (one === '"') quoted = !quoted;
    else if (one === separator && !quoted) (cells.push(cell), (cell = ""));
    else cell += one;
  }
  return [...cells, cell];
}

/** Seconds since 1970, of a number of seconds or a date; null where it is neither. */
function moment(text: string | undefined): number | null {
  if (!text?.trim()) return null;
  const number = Number(text);
  const seconds = Number.isFinite(number) ? number : Date.parse(text) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.floor(seconds) : null;
}
