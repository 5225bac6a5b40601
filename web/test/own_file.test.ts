import { describe, expect, it } from "vitest";
import { ownRows, readOwnFile } from "../src/ui/own_file.ts";
import { Titles } from "../src/ui/titles.ts";

const titles = new Titles(
  ["Matrix, The (1999)", "Alien (1979)", "Amélie (2001)", "Heat (1995)", "Heat (1986)"],
  ["Drama"],
  [[0]],
);
const labels = ["10", "20", "30", "40", "50"];
const find = (some: (string | number)[]) =>
  some.map((one) => (labels.includes(String(one)) ? labels.indexOf(String(one)) : null));
const items = (text: string) => ownRows(text, titles, find).likes.map(({ item }) => item);

describe("a file of one's own likes", () => {
  it("reads MovieLens with a header: ratings of four and more are likes", () => {
    const read = ownRows(
      "userId,movieId,rating,timestamp\n1,10,5,964982703\n1,20,3.5,964982703\n1,99,4,1\n",
      titles,
      find,
    );
    expect(read.likes).toEqual([{ item: 0, value: 1, time: 964982703 }]);
    expect(read.rows).toBe(2); // one of them is unknown here
    expect(read.note).toContain("4");
  });
  it("reads MovieLens without one, by tabs and by two colons", () => {
    expect(items("1\t10\t5\t964982703\n1\t20\t1\t964982703\n")).toEqual([0]);
    expect(items("1::10::5::964982703\r\n1::30::4::964982703\r\n")).toEqual([0, 2]);
  });
  it("reads Netflix: titles in quotes, other spellings of them, dates", () => {
    const { likes } = ownRows('\uFEFFTitle,Date\n"The Matrix","1/2/2020"\n"Amelie","x"\n', titles, find);
    expect(likes.map(({ item }) => item)).toEqual([0, 2]);
    expect(likes[0]!.time).toBeGreaterThan(1.57e9);
    expect(likes[1]!.time).toBeNull();
  });
  it("reads a list of titles alone", () => {
    expect(items("Alien\nMatrix, The (1999)\n")).toEqual([1, 0]);
  });
  it("takes ones for likes where nothing is rated, and each item once", () => {
    expect(items("item,value\n10,1\n20,1\n10,1\n")).toEqual([0, 1]);
  });
  it("reads quotes within quotes and separators within them", () => {
    const quoted = new Titles(['He said "so", twice (2000)'], [], []);
    expect(ownRows('title,x\n"He said ""so"", twice (2000)",1\n', quoted, find).likes).toHaveLength(1);
  });
  it.each([
    ["", "must hold a table"],
    ["\n \n", "must hold a table"],
    ["title\n", "must hold a table"],
    ["a,b,c\nd,e,f\n", "must have a column with titles"],
    ["user,item\n1,10\n2,20\n", "must be of one person"],
    ["title\nHeat\n", "None of the titles"], // there are two: neither is guessed
    ["item\n77\n", "None of the titles"],
    ["item,rating\n10,2\n20,3\n", "None of the titles"],
  ])("refuses %j in a sentence", (text, says) => {
    expect(() => ownRows(text, titles, find)).toThrow(says);
  });
  it("refuses a file that is too large before it reads it", async () => {
    const file = { size: 21e6, text: () => Promise.reject(new Error("was read")) } as unknown as File;
    await expect(readOwnFile(file, titles, find)).rejects.toThrow("20 MB");
  });
});
