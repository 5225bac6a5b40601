import { describe, expect, it } from "vitest";
import { readable, Titles } from "../src/ui/titles.ts";

const titles = new Titles(
  ["Matrix, The (1999)", "Léon: The Professional (1994)", "Heat (1995)", "Heat (1986)", "Dead Heat", "film-05"],
  ["Action", "Drama"],
  [[0], [0, 1], [0], [], [0]],
);

describe("titles", () => {
  it.each([
    ["Matrix, The (1999)", "The Matrix", "1999"],
    ["City of Lost Children, The (Cité, La) (1995)", "The City of Lost Children (Cité, La)", "1995"],
    ["Heat", "Heat", ""],
    ["2001 (1968)", "2001", "1968"],
    ["", "", ""],
  ])("%j is said as people do", (text, name, year) => {
    expect(readable(text)).toEqual({ name, year });
  });
  it("are found by words in any order, without accents; those that begin so first, then by rank", () => {
    const rank = (item: number) => -item;
    expect(titles.search("professional leon", 5, rank)).toEqual([1]);
    expect(titles.search("heat", 5, rank)).toEqual([3, 2, 4]);
    expect(titles.search("heat", 1, rank)).toEqual([3]);
    expect(titles.search(" ?! ", 5, rank)).toEqual([]);
    expect(titles.search("<script>", 5, rank)).toEqual([]);
  });
  it("are found as others spell them, and not guessed", () => {
    expect(titles.find("the matrix")).toBe(0);
    expect(titles.find("The Matrix (1999)")).toBe(0);
    expect(titles.find("The Matrix (2003)")).toBeNull();
    expect(titles.find("Heat")).toBeNull(); // of two
    expect(titles.find("Heat (1986)")).toBe(3);
  });
  it("have kinds, most items first; an item without a title has a number", () => {
    expect(titles.kinds()).toEqual(["Action", "Drama"]);
    expect(titles.of(1).kinds).toEqual(["Action", "Drama"]);
    expect(titles.text(0)).toBe("The Matrix (1999)");
    expect(titles.text(99)).toBe("item 99");
  });
});
