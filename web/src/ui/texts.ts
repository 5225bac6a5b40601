/** Every sentence of the page, for translators: nothing is said anywhere else. */

export const texts = {
  name: "Murmura",
  screens: {
    start: "Your likes",
    "for-you": "For you",
    share: "Share",
    left: "What left",
    data: "My data",
    how: "How it works",
  },
  pill: {
    nothing: "Nothing has left this browser",
    unknown: "What has left is not known yet",
    deleted: "Everything here is deleted",
    asked: (bytes: string) => `No upload yet (${bytes}): see`,
    uploads: (n: number, bytes: string) => `${n === 1 ? "1 upload" : `${n} uploads`}, ${bytes}: see`,
    undeclared: "A request left that this page did not declare",
  },
  pause: "Pause",
  resume: "Resume",
  paused: "Paused: nothing leaves",
  online: "The network is there",
  offline: "No network: your list still works, nothing is shared",
  loading: "Opening…",
  close: "Close",
  start: {
    title: "Pick five you like",
    promise: "They stay in this browser. No account, no cookie, nothing to agree to unless you share.",
    search: "Search by title",
    none: "No title has that in it.",
    fewer: (n: number) => (n === 1 ? "One more, and your list gets better." : `${n} more, and your list gets better.`),
    enough: "Your list is ready. More likes make it better.",
    yours: (n: number) => likesText(n),
    nothing: "Nothing yet. What you pick appears here.",
    remove: (title: string) => `Remove ${title}`,
    samples: "Or look around as somebody else",
    samplesHint: "Your own likes stay as they are. Nothing of it is kept, trained on or sent.",
    sample: (kind: string) => `as if you liked ${kind}`,
    open: "Open a file of your own",
    openHint: "MovieLens, Netflix or any CSV. It is read here and goes nowhere.",
    opened: (found: number, rows: number, note: string) => `${found} of ${rows} titles are known here. ${note}`,
    popular: "Known by many",
    see: "See what is for you",
  },
  forYou: {
    title: "For you",
    tabs: { personal: "For you", popular: "Popular, not personal" },
    footer: (ms: string, round: number, bytes: string) =>
      `Ranked in this browser in ${ms} ms, with the model of round ${round} (${bytes} downloaded).`,
    somebody: (kind: string, own: number) =>
      `A list as if you liked ${kind}. ${own ? `Your own ${likesText(own)} stay as they are. ` : ""}Nothing of it is kept, trained on or sent.`,
    own: "Back to your own list",
    empty: "Like a few titles first: this list is made from them, here.",
    pick: "Pick some",
    noModel: "This federation has published no model yet. Your likes are kept; come back after its first round.",
    similar: (titles: string) => `Similar to ${titles}`,
    terms: (terms: string) => `Because of ${terms}`,
    everybody: "What many people like: one list for everyone.",
    like: "Like",
    liked: "Liked",
    shared: "(also something you share)",
    and: " and ",
  },
  share: {
    title: "Do you want to share?",
    lead: "This works without sharing. If you share, your browser trains together with others. What it sends is split in two halves for two machines; neither can read its own.",
    keep: "Keep everything here",
    choose: "Choose how much to share",
    stops: ["Nothing", "A little", "Half", "Everything"],
    slider: "How much of what you like may be part of updates",
    leaves: "What leaves",
    leavesNothing: "Nothing.",
    leavesSome: (n: number, all: number, bytes: string) =>
      `At most ${n} of your ${all} titles are used, ever. Each round sends ${bytes}, whatever is in it. Rounds go on while this tab is open, without a limit.`,
    noneUsed: "None of your titles is used at this share.",
    next: (stop: string, share: string) => `Try ${stop} (${share})`,
    titles: "These titles:",
    hidden: "These stay:",
    observer: "What somebody watching could work out",
    observerNothing: "Nothing about your likes: nobody gets a message.",
    epsilon: (epsilon: string, against: string) =>
      `Noise bounds it: epsilon ${epsilon} for one person with all she has, against ${against}.`,
    noNoise: "Sums without noise: you are hidden only among at least {n} people.",
    exact:
      "I allow sums without noise. Everybody can read them in the model: whoever knows one rare title of mine may learn others.",
    lose: "What you lose or gain",
    loseList: "Your own list hardly changes: it is made here from all you like. Sharing decides what others get.",
    loseAlone: "If only you and a few chose this",
    loseAll: "If everyone chose this",
    limit: "The slider decides how many titles are used. It does not hide them: that is what the two machines are for.",
    preview: "Show me the exact message first",
    previewTitle: "The message, before it is split and sealed",
    previewWhere: (bytes: string, to: string) => `${bytes} to ${to}`,
    previewRows: (n: number) => `${n} rows; each stands for one title:`,
    previewMore: (n: number) => `and ${n} rows more`,
    download: "Download this message",
    use: "Use this",
    cancel: "Cancel",
    now: (share: string) => `Now: ${share}`,
    invitation: "Sharing needs an invitation, and this page was opened without one. You can use everything else.",
    small: (n: number) => `Sums of ${n} people hide little. Share only if you know why.`,
    notMeasured: "not measured",
    need: "Like something first: then there is something to share.",
    stopped: "You stopped sharing. What was added to sums before cannot be taken out of them.",
  },
  left: {
    upload: (round: number) => `Round ${round}`,
    title: "What left this browser",
    lead: "Written down before the first byte leaves, and counted again by another program in this browser (the meter). Both must agree.",
    nothing: "Nothing about you has left. Requests for public things are below.",
    columns: ["when", "round", "what for", "bytes (page)", "bytes (meter)", "state"],
    agree: (page: string, meter: string) => `Page ${page}, meter ${meter}: they agree.`,
    differ: (page: string, meter: string) => `Page ${page}, meter ${meter}: they do not agree.`,
    noMeter: "The meter is not available in this browser: only the page counts.",
    undeclared: "Not declared by this page",
    undeclaredLead:
      "The meter saw requests that the page did not write down. Do not trust this page: leave it, and tell who runs it.",
    open: "Show",
    contents: "These likes were part of it:",
    none: "none of your likes: drawn items alone",
    chain: (head: string) => `The lines are chained; the last one is ${head}.`,
    csv: "Download as CSV",
    down: "Public things that were fetched",
    times: (n: number) => (n === 1 ? "once" : `${n} times`),
    check: "Check with your own tools: open the developer tools (F12), choose Network, and compare.",
    countersigned: "signed for by both machines",
    disclosed: (share: string) => `${share} of your likes have ever been part of an upload`,
    purposes: {
      join: "take a place",
      ticket: "ask to report in a round",
      "seed share": "one half, sealed",
      "vector share": "the other half, sealed",
      letter: "an update the server reads",
      leave: "give the place back",
    } as Record<string, string>,
  },
  data: {
    title: "Everything about you",
    lead: "It is all in this browser, and this is all of it.",
    likes: (n: number) => `${n} likes`,
    never: "Never share",
    neverHint: "Titles marked so are no part of an update, whatever the slider says.",
    download: "Download everything",
    move: "Move it to another device",
    moveHint:
      "Download the file, open it on the other device, then delete everything here: two devices with one identity would be refused.",
    restore: "Open a file from another device",
    remove: "Delete everything",
    sure: "Delete your likes, your settings, the ledger and the copy of this page?",
    yes: "Yes, delete everything",
    no: "No, keep it",
    honest: "What was added to sums in past rounds cannot be taken out of them: no machine has your part.",
    deleted:
      "Everything is deleted: likes, settings, ledger, meter, and the copy of this page. Close the tab, or begin anew.",
    again: "Begin anew",
    left: (why: string) =>
      `The place in the federation could not be given back (${why}); it is lost by itself after some rounds.`,
  },
  how: {
    title: "How it works",
    steps: [
      ["You like", "Your likes, and what this browser learned of your taste, stay here."],
      [
        "It learns",
        "Your browser takes the public model, the same for everyone, and works out how it would change for you.",
      ],
      [
        "It splits",
        "The change is cut into two halves of random numbers, each sealed for one machine. One half tells nothing. Exact sums need a proof that the halves follow the rules; it tells nothing else.",
      ],
      [
        "They add up",
        "Each machine adds the halves of everyone. Only both sums together mean something: how all changed it.",
      ],
    ],
    picture: "Three people and two machines: move a number, and see what each machine gets",
    person: "person",
    first: "first machine",
    second: "second machine",
    sum: "sum",
    pictureNote: "The halves change with every draw; the sum does not.",
    draw: "Draw the halves anew",
    label: "In short",
    facts: {
      collected: ["Collected", "Sums over at least {n} people"],
      never: ["Never collected", "Your likes, your list, your vector, who you are"],
      kept: ["Kept how long", "Sums become the model. Halves are forgotten when a round is over"],
      sees: [
        "Who sees what",
        "Each machine: random numbers. Both together: they could read your message, so they should belong to two people who would not conspire",
      ],
      address: ["Your address", "Every server you visit sees your network address, this one too"],
    },
    limits: "What this page cannot promise",
    limitsList: [
      "The meter comes from the same server as this page: it shows mistakes, not a server that lies with both.",
      "Whoever runs this server also sends you this page, and could send you another one. The last section here says how to compare it with the published one.",
      "A browser stops requests to other addresses; it does not stop a page from opening another page with something in its address, or from WebRTC.",
      "The two machines could put their halves together. They are named above.",
      "What was added to a sum cannot be taken out of it.",
    ],
    federation: "This federation",
    method: "method",
    minimum: "no sum of fewer than",
    deviceCounts: "one device counts for at most",
    people: "people",
    noise: "noise",
    noNoise: "sums without noise",
    machines: "Machines this page may talk to",
    operator: "Operator's status page",
    without: "You came without an invitation, so this browser believes what the server says about the federation.",
    verify: "Check this page",
    verifyHint: "With Murmura installed, this compares every file of this page with the published one:",
  },
  measured: {
    matched: (odds: number, people: number) =>
      `Somebody who knows half of your likes and sees every sum of ${people} people is shown two equally known titles, one of them yours, and picks yours ${odds} times in 100; by guessing, 50.`,
    notMeasured: (people: number) =>
      `The odds are not measured for sums of ${people} people with this method and noise.`,
    observed: (data: string) => `Measured on ${data}, where everyone shares everything.`,
    otherShare: "Not measured at this share. At everything:",
    level: (hits: string, before: string, odds: number, data: string) =>
      `${hits} of 100 titles shown to you would be right, ${before} if you shared everything. Whoever sees the sums with and without you, of two equally known titles, picks yours ${odds} times in 100. Measured on ${data}.`,
    everyone: (hits: string, data: string) => `${hits} of 100 titles shown would be right, measured on ${data}.`,
  },
  errors: {
    worker: "This browser must be able to start a background worker, but cannot; a newer browser can.",
    offline: "This page must have been opened with the network once; then it works without.",
    file: {
      large: (mb: number) => `A file must be smaller than ${mb} MB; this one is larger.`,
      empty:
        "This file must hold a table with a line for each title, but has none. MovieLens, Netflix and CSV files work.",
      columns: (header: string) =>
        `This file must have a column with titles or with item numbers, but has "${header}". Name one title, item or movieId.`,
      people: (n: number) =>
        `This file must be of one person, but has rows of ${n}. Open one with your own rows alone.`,
      unknown: "None of the titles in this file is known here, so nothing was changed.",
      rated: (from: number) => `Ratings of ${from} and more count as likes.`,
      json: "This must be a file that this page has written, but is something else; nothing was changed.",
    },
  },
};

function likesText(n: number): string {
  return n === 1 ? "1 like" : `${n} likes`;
}

/** Bytes for people. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
