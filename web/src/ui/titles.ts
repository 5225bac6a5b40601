/** What people call the items: titles with years, and the kinds they are of. Served with the page. */

export interface Title {
  name: string; // "The Matrix"
  year: string; // "1999", or ""
  kinds: readonly string[];
}

export class Titles {
  readonly all: readonly Title[];
  private readonly plain: readonly string[];

  constructor(titles: readonly string[], kinds: readonly string[], of: readonly (readonly number[])[]) {
    this.all = titles.map((text, item) => ({
      ...readable(text),
      kinds: (of[item] ?? []).map((kind) => kinds[kind] ?? ""),
    }));
    this.plain = this.all.map(({ name, year }) => simplified(`${name} ${year}`));
  }

  static async fetch(): Promise<Titles> {
    const reply = await fetch("/titles.json");
    const read = (await reply.json()) as { titles: string[]; kinds: string[]; of: number[][] };
    return new Titles(read.titles, read.kinds, read.of);
  }

  of(item: number): Title {
    return this.all[item] ?? { name: `item ${item}`, year: "", kinds: [] };
  }

  text(item: number): string {
    const { name, year } = this.of(item);
    return year ? `${name} (${year})` : name;
  }

  /** Items whose title has all the words, those that begin with the text first; `rank` orders equals. */
  search(text: string, most: number, rank: (item: number) => number): number[] {
    const words = simplified(text).split(" ").filter(Boolean),
      begin = simplified(text);
    if (!words.length) return [];
    const found: number[] = [];
    this.plain.forEach((one, item) => {
      if (words.every((word) => one.includes(word))) found.push(item);
    });
    const order = (item: number) => (this.plain[item]!.startsWith(begin) ? 0 : 1e9) + rank(item);
    return found.sort((one, other) => order(one) - order(other)).slice(0, most);
  }

  /** The item of a title as somebody else spells it; null where there is none, or several. */
  find(text: string): number | null {
    const wanted = simplified(Object.values(readable(text)).join(" "));
    const exact = this.matches((one) => one === wanted);
    const found = exact.length ? exact : this.matches((one) => one.replace(/ \d{4}$/, "") === wanted);
    return found.length === 1 ? found[0]! : null;
  }

  /** Kinds with the most items first. */
  kinds(): string[] {
    const counts = new Map<string, number>();
    for (const { kinds } of this.all) for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return [...counts.keys()].sort((one, other) => counts.get(other)! - counts.get(one)!);
  }

  private matches(fits: (plain: string) => boolean): number[] {
    return this.plain.flatMap((one, item) => (fits(one) ? [item] : []));
  }
}

/** "Matrix, The (1999)" as it is said: The Matrix, 1999. */
export function readable(text: string): { name: string; year: string } {
  const found = /^(.*?)\s*\((\d{4})\)\s*$/.exec(text),
    whole = found ? found[1]! : text.trim();
  const turned = /^(.*), (The|A|An|Le|La|Les|Il|El|Der|Die|Das)( \(.*\))?$/.exec(whole);
  return { name: turned ? `${turned[2]} ${turned[1]}${turned[3] ?? ""}` : whole, year: found?.[2] ?? "" };
}

function simplified(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
