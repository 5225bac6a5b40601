// src/bytes.ts
var UTF8 = new TextEncoder();
function utf8(text) {
	return UTF8.encode(text);
}
function text(bytes) {
	return new TextDecoder("utf-8", { fatal: !0 }).decode(bytes);
}
function concat(...parts) {
	let whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0)), at = 0;
	for (let part of parts) whole.set(part, at), at += part.length;
	return whole;
}
function equal(one, other) {
	return one.length === other.length && one.every((byte, place) => byte === other[place]);
}
function toHex(bytes) {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function fromHex(digits) {
	if (!/^([0-9a-f]{2})*$/.test(digits)) throw TypeError("not hexadecimal");
	let bytes = new Uint8Array(digits.length / 2);
	for (let place = 0; place < bytes.length; place++) bytes[place] = parseInt(digits.slice(2 * place, 2 * place + 2), 16);
	return bytes;
}
function fromBase64Url(digits) {
	if (!/^[\w-]*$/.test(digits) || digits.length % 4 == 1) return null;
	let plain = atob(digits.replaceAll("-", "+").replaceAll("_", "/"));
	return Uint8Array.from(plain, (sign) => sign.charCodeAt(0));
}
function u32(value) {
	let bytes = new Uint8Array(4);
	return new DataView(bytes.buffer).setUint32(0, value, !0), bytes;
}
function u64(value) {
	let bytes = new Uint8Array(8);
	return new DataView(bytes.buffer).setBigUint64(0, BigInt(value), !0), bytes;
}
function view(bytes) {
	return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
// src/device/types.ts
function outcome(kind, why = "") {
	return {
		kind,
		round: -1,
		phase: "",
		why,
		bytes: 0,
		disclosed: 0,
		epsilon: null
	};
}
var DeviceError = class extends Error {
	name = "DeviceError";
}, CODES = new Set([
	"malformed",
	"unauthorised",
	"forged",
	"not-called",
	"unknown",
	"method",
	"duplicate",
	"replay",
	"invalid",
	"left-out",
	"released",
	"too-few",
	"no-twin",
	"late",
	"finished",
	"lost",
	"oversize",
	"version",
	"rate",
	"paused",
	"full"
]), LONGEST = 1e3, RefusedError = class RefusedError extends DeviceError {
	name = "RefusedError";
	code;
	constructor(code, message) {
		super(printable(message)), this.code = code;
	}
	static read(status, body) {
		try {
			let { error, message } = JSON.parse(new TextDecoder().decode(body));
			if (typeof error == "string" && typeof message == "string") return new RefusedError(CODES.has(error) ? error : "malformed", message.slice(0, LONGEST));
		} catch {}
		return new RefusedError("malformed", `the other side answered ${status} without saying why.`);
	}
}, UnreachableError = class extends DeviceError {
	name = "UnreachableError";
}, NoReceiptError = class extends RefusedError {
	name = "NoReceiptError";
};
function malformed(message) {
	return new RefusedError("malformed", message);
}
function forged(message) {
	return new RefusedError("forged", message);
}
function printable(said) {
	return said.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => /\s/.test(sign) ? " " : "�");
}
// src/crypto/hashing.ts
async function sha256(...parts) {
	return new Uint8Array(await crypto.subtle.digest("SHA-256", concat(...parts)));
}
async function sha256Hex(...parts) {
	return toHex(await sha256(...parts));
}
// src/doubles.ts
function spelledDouble(value) {
	if (!Number.isFinite(value)) throw RangeError("JSON has no spelling for it");
	let sign = value < 0 || Object.is(value, -0) ? "-" : "", [mantissa, power] = Math.abs(value).toExponential().split("e"), digits = mantissa.replace(".", ""), e = Number(power);
	if (e < -4 || e >= 16) {
		let fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
		return `${sign}${digits[0]}${fraction}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
	}
	return e < 0 ? `${sign}0.${"0".repeat(-e - 1)}${digits}` : `${sign}${digits.slice(0, e + 1).padEnd(e + 1, "0")}.${digits.slice(e + 1) || "0"}`;
}
// src/message/crc32.ts
var TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
	let rest = byte;
	for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? rest >>> 1 ^ 3988292384 : rest >>> 1;
	return rest >>> 0;
});
function crc32(bytes) {
	let rest = 4294967295;
	for (let byte of bytes) rest = rest >>> 8 ^ TABLE[(rest ^ byte) & 255];
	return (rest ^ 4294967295) >>> 0;
}
// src/message/declaration.ts
var BYTES = {
	int8: 1,
	float16: 2,
	float32: 4,
	float64: 8,
	uint32: 4,
	uint64: 8
};
function table(name, space, rows, width, dtype = "float32", more = {}) {
	return {
		name,
		space,
		rows,
		width,
		dtype,
		bound: more.bound ?? null,
		exact: more.exact ?? null
	};
}
function message(tables, scalars = []) {
	return {
		tables,
		scalars
	};
}
function rowBytes(one) {
	return one.width * BYTES[one.dtype];
}
async function spelled(spec) {
	return `(${tuple(await Promise.all(spec.tables.map(spelledTable)))}, ${tuple(spec.scalars.map((name) => `'${name}'`))})`;
}
async function mark(spec) {
	return crc32(utf8(await spelled(spec)));
}
function modelBytes(spec, listed) {
	return spec.tables.map((one) => 4 + Number(one.dtype === "int8") + (one.space === "item" ? listed : one.rows) * rowBytes(one)).reduce((sum, length) => sum + length, 8);
}
function narrowed(spec, download) {
	if (download === "exact") return spec;
	let kind = (one) => one.space === "dense" ? "float16" : download, tables = spec.tables.map((one) => one.dtype === "uint32" ? one : {
		...one,
		dtype: kind(one)
	});
	return {
		...spec,
		tables
	};
}
function emptyValues(dtype, length) {
	return dtype === "uint32" ? new Uint32Array(length) : dtype === "float64" ? new Float64Array(length) : new Float32Array(length);
}
function boundOf(exact, row) {
	return typeof exact.most == "number" ? exact.most : exact.most[row];
}
function checkUpdate(spec, update) {
	let names = (list) => [...list].sort().join(", "), tables = spec.tables.map((one) => one.name);
	if (names(Object.keys(update.tables)) !== names(tables) || names(Object.keys(update.scalars)) !== names(spec.scalars)) throw new DeviceError(`an update must hold the tables ${names(tables)}, but holds others.`);
	for (let one of spec.tables) checkRows(one, update.tables[one.name]);
	if (!Object.values(update.scalars).every(Number.isFinite)) throw new DeviceError("the scalars of an update must be finite, but one is not.");
}
function checkRows(one, { index, values }) {
	if (values.length !== index.length * one.width || values.constructor !== emptyValues(one.dtype, 0).constructor) throw new DeviceError(`the table '${one.name}' must hold ${one.dtype} rows of ${one.width}, but holds others.`);
	if (one.space === "dense" && index.length !== 0 && index.length !== one.rows) throw new DeviceError(`the dense table '${one.name}' must hold all of its rows or none, but holds some.`);
	if (index.some((row, place) => row >= one.rows || row <= (place ? index[place - 1] : -1))) throw new DeviceError(`the row numbers of '${one.name}' must ascend and stay below ${one.rows}, but do not.`);
	if (!values.every(Number.isFinite)) throw new DeviceError(`the values of '${one.name}' must be finite, but one is not.`);
	let { exact } = one;
	if (exact ? values.some((value, place) => value > boundOf(exact, index[Math.floor(place / one.width)])) : one.bound !== null && values.some((value) => Math.abs(value) > one.bound)) throw new DeviceError(`the values of '${one.name}' must keep their bounds, but one does not.`);
}
async function spelledTable(one) {
	let bound = one.bound === null ? "None" : spelledDouble(one.bound), exact = one.exact ? `, exact=${await spelledBounds(one.exact)}` : "";
	return `Table(name='${one.name}', space='${one.space}', rows=${one.rows}, width=${one.width}, dtype='${one.dtype}', bound=${bound}${exact})`;
}
async function spelledBounds({ most, of }) {
	return `Rows(most=${typeof most == "number" ? String(most) : `sha256:${await sha256Hex(words(most))}`}, of='${of}')`;
}
function words(values) {
	let bytes = new Uint8Array(4 * values.length), seen = new DataView(bytes.buffer);
	for (let place = 0; place < values.length; place++) seen.setUint32(4 * place, values[place], !0);
	return bytes;
}
function tuple(parts) {
	return `(${parts.join(", ")}${parts.length === 1 ? "," : ""})`;
}
// src/numerics/philox.ts
var Purpose = {
	SECRET: 0,
	INIT: 1,
	TRIPLES: 3,
	COINS: 4,
	CONSENT: 5,
	CHOICE: 6,
	WARM: 7,
	REFRESH: 8,
	FOLD_IN: 9,
	ROUNDING: 10,
	BLOCK: 11,
	GAIN: 12,
	WORK: 14,
	PART: 16,
	SKETCH: 17
}, TWO32 = 2 ** 32;
function high(a, b) {
	let low = a & 65535, up = a >>> 16, first = low * b, second = up * b + Math.floor(first / 65536);
	return Math.floor(second / 65536) >>> 0;
}
function block(c0, c1, c2, c3, secret, out, at) {
	let [k0, k1] = secret;
	for (let round = 0; round < 10; round++) {
		let h0 = high(3528531795, c0), l0 = Math.imul(3528531795, c0) >>> 0, h1 = high(3449720151, c2), l1 = Math.imul(3449720151, c2) >>> 0;
		c0 = (h1 ^ c1 ^ k0) >>> 0, c1 = l1, c2 = (h0 ^ c3 ^ k1) >>> 0, c3 = l0, k0 = k0 + 2654435769 >>> 0, k1 = k1 + 3144134277 >>> 0;
	}
	out[at] = c0, out[at + 1] = c1, out[at + 2] = c2, out[at + 3] = c3;
}
var Stream = class {
	secret;
	round;
	purpose;
	ahead = new Uint32Array(4);
	next = 4;
	blocks = 0;
	constructor(secret, round, purpose) {
		this.secret = secret, this.round = round, this.purpose = purpose;
	}
	word() {
		return this.next === 4 && (block(this.blocks++, this.round, this.purpose, 0, this.secret, this.ahead, 0), this.next = 0), this.ahead[this.next++];
	}
	wordsAt(places) {
		let found = new Uint32Array(4), words = new Uint32Array(places.length), known = -1;
		return places.forEach((place, n) => {
			let here = Math.floor(place / 4);
			here !== known && block(known = here, this.round, this.purpose, 0, this.secret, found, 0), words[n] = found[place % 4];
		}), words;
	}
	below(n) {
		let unfair = TWO32 % n;
		for (;;) {
			let word = this.word();
			if (Math.imul(word, n) >>> 0 >= unfair) return high(word, n);
		}
	}
	coin(share) {
		return this.word() < Math.floor(share * TWO32);
	}
	normals(n) {
		return Float64Array.from({ length: n }, () => standardNormal(this.word()));
	}
	choose(n, m) {
		let chosen = new Set();
		for (let last = n - m; last < n; last++) {
			let drawn = this.below(last + 1);
			chosen.add(chosen.has(drawn) ? last : drawn);
		}
		return [...chosen].sort((a, b) => a - b);
	}
}, Rng = class {
	secret;
	round;
	constructor(secret, round = 0) {
		this.secret = secret, this.round = round;
	}
	stream(purpose) {
		return new Stream(this.secret, this.round, purpose);
	}
};
function inPublicPart(seed, place, part) {
	let words = new Uint32Array(4), seen = new DataView(seed.buffer, seed.byteOffset, 16), [k0, k1, low, up] = [
		0,
		4,
		8,
		12
	].map((at) => seen.getUint32(at, !0));
	return block(Math.floor(place / 4), low, Purpose.PART, up, [k0, k1], words, 0), words[place % 4] < Math.floor(part * TWO32);
}
var CENTRE = [[
	3.3871327179,
	50.434271938,
	159.29113202,
	59.10937472
], [
	1,
	17.895169469,
	78.757757664,
	67.1875636
]], TAIL = [[
	1.4234372777,
	2.75681539,
	1.3067284816,
	.17023821103
], [
	1,
	.7370016425,
	.12021132975,
	0
]];
function standardNormal(word) {
	let u = (word + .5) * 2 ** -32, q = u - .5;
	if (Math.abs(q) <= .425) {
		let r = .180625 - q * q;
		return q * (cubic(CENTRE[0], r) / cubic(CENTRE[1], r));
	}
	let t = Math.sqrt(-log(Math.min(u, 1 - u))) - 1.6, tail = cubic(TAIL[0], t) / cubic(TAIL[1], t);
	return q < 0 ? -tail : tail;
}
function cubic(c, x) {
	return ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
}
function log(x) {
	let e = 0, m = x;
	for (; m < .5; m *= 2) e--;
	m < .7071067811865476 && (m *= 2, e--);
	let s = (m - 1) / (m + 1), z = s * s, series = 1 / 13;
	for (let k of [
		11,
		9,
		7,
		5,
		3,
		1
	]) series = series * z + 1 / k;
	return e * .6931471805599453 + 2 * s * series;
}
// src/methods/triples.ts
function drawTriples(info, history, n, stream) {
	let mine = new Set(history.item), drawn = {
		own: [],
		other: []
	};
	if (!mine.size || info.listed.every((item) => mine.has(item))) return drawn;
	for (let t = 0; t < n; t++) {
		drawn.own.push(stream.below(history.item.length));
		let other;
		do
			other = info.listed[stream.below(info.listed.length)];
		while (mine.has(other));
		drawn.other.push(other);
	}
	return drawn;
}
// src/methods/item_features.ts
var MAGIC = [
	109,
	102,
	1
], LARGEST = 1 << 26, SIZES = 12, HOP = "~";
function featuresOf(features, item) {
	return features.feature.subarray(features.start[item], features.start[item + 1]);
}
function hopsOf(label) {
	let at = label.indexOf("=");
	return at < 0 ? 1 : Math.min(label.slice(0, at).split(HOP).length, 255);
}
async function readFeatures(content) {
	let raw = await unpacked(content), seen = view(raw), [items, features, pairs] = [
		0,
		4,
		8
	].map((at) => seen.getUint32(at, !0)), textAt = SIZES + 4 * (items + pairs);
	if (textAt > raw.length) throw malformed("item features must be as long as they say, but are shorter.");
	let counts = planes(raw, SIZES, items), steps = planes(raw, SIZES + 4 * items, pairs);
	if (counts.reduce((sum, n) => sum + n, 0) !== pairs || features > pairs) throw malformed("item features must have the counts they state, but have others.");
	let labels = readLabels(raw.subarray(textAt), features), start = new Uint32Array(items + 1), feature = new Int32Array(pairs);
	for (let item = 0, at = 0; item < items; item++) {
		for (let n = 0, last = 0; n < counts[item]; n++, at++) {
			if (last += steps[at], last >= features || n && steps[at] === 0) throw malformed("the features of an item must ascend and be known ones, but are not.");
			feature[at] = last;
		}
		start[item + 1] = at;
	}
	return {
		labels,
		start,
		feature
	};
}
async function unpacked(content) {
	let wrong = malformed("item features must be in the form of docs/wire.md, but are not.");
	if (!MAGIC.every((byte, place) => content[place] === byte)) throw wrong;
	let reader = new Blob([concat(content.subarray(3))]).stream().pipeThrough(new DecompressionStream("deflate")).getReader(), parts = [], length = 0;
	try {
		for (let next = await reader.read(); !next.done; next = await reader.read()) if (parts.push(next.value), length += next.value.length, length > LARGEST) throw wrong;
	} catch {
		throw await reader.cancel().catch(() => void 0), wrong;
	}
	let raw = concat(...parts);
	if (length < SIZES || view(content).getUint32(content.length - 4) !== adler32(raw)) throw wrong;
	return raw;
}
function adler32(bytes) {
	let low = 1, high = 0;
	for (let byte of bytes) low = (low + byte) % 65521, high = (high + low) % 65521;
	return high * 65536 + low;
}
function planes(raw, at, n) {
	return Uint32Array.from({ length: n }, (_, place) => raw[at + place] + raw[at + n + place] * 256 + raw[at + 2 * n + place] * 2 ** 16 + raw[at + 3 * n + place] * 2 ** 24);
}
function readLabels(bytes, features) {
	try {
		let labels = features ? text(bytes).split("\n") : [];
		if (labels.length === features && (features || !bytes.length)) return labels;
	} catch {}
	throw malformed("item features must have a label each, a line of UTF-8, but have not.");
}
function readableNames(labels) {
	let plain = labels.map((label) => readable(label, !1)), count = new Map();
	for (let name of plain) count.set(name, (count.get(name) ?? 0) + 1);
	return plain.map((name, n) => count.get(name) === 1 ? name : readable(labels[n], !0));
}
function readable(label, origin) {
	let at = label.indexOf("=");
	return at < 0 ? `feature: ${lastPart(label)}` : `${label.slice(0, at).split(HOP).map((hop) => readableHop(hop, origin)).join(" → ")}: ${lastPart(label.slice(at + 1))}`;
}
function readableHop(hop, origin) {
	let words = unquoted(lastPart(hop)).replaceAll("_", " ").replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").toLowerCase();
	return origin && hop.startsWith("http://dbpedia.org/property/") ? `${words} (infobox)` : words;
}
function lastPart(whole) {
	if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\/\S*$/.test(whole)) return whole;
	let named = /\/(?:resource|entity)\//.exec(whole);
	return unquoted((named ? whole.slice(named.index + named[0].length) : "") || whole.replace(/[/#]+$/, "").split(/[/#]/).at(-1)).replaceAll("_", " ").trim();
}
function unquoted(escaped) {
	try {
		return decodeURIComponent(escaped);
	} catch {
		return escaped;
	}
}
// src/methods/method.ts
function phase(name, sends, more = {}) {
	return {
		name,
		sends,
		repeat: null,
		fetchesModel: !0,
		asks: "training",
		part: 1,
		follows: "",
		longest: null,
		claim: null,
		...more
	};
}
function heldRows(of, update, history) {
	let held = new Set();
	for (let one of of.sends.tables) one.space === "item" && update.tables[one.name].index.forEach((row) => held.add(row));
	return Array.from(history.item, (item) => held.has(item));
}
function checkConsent(of, update, history, features) {
	let open = new Set(features && Array.from(history.item).flatMap((item, row) => history.consent[row] > 0 ? Array.from(featuresOf(features, item)) : [])), unshared = new Set(history.item.filter((_, row) => history.consent[row] === 0));
	if (update.own?.some((item) => unshared.has(item))) throw new DeviceError("what is proved must not hold an item its owner does not share, but does.");
	for (let one of of.sends.tables) {
		if (one.space === "feature" && update.tables[one.name].index.some((row) => !open.has(row))) throw new DeviceError(`the table '${one.name}' must hold features of shared items alone, but holds others.`);
		if (one.space === "item" && update.tables[one.name]?.index.some((row) => unshared.has(row))) throw new DeviceError(`the table '${one.name}' must not hold a row of an item its owner does not share, but does.`);
	}
}
// src/methods/cfpl.ts
var SPREAD$1 = .1, Cfpl = class Cfpl {
	s;
	releasesCounts = !1;
	usesFeatures = !1;
	round;
	constructor(s) {
		this.s = s, this.round = s.precision === "float32" ? Math.fround : (x) => x;
	}
	static of(settings) {
		let s = settings;
		if (!(Number.isInteger(s.factors) && s.factors > 0 && s.alpha > 0 && settings.sampling === "clients" && (s.triples === "own" || s.triples === "mean" || Number.isInteger(s.triples)) && s.rate_decay >= 0 && ["B", "equations"].includes(s.version) && ["float32", "float64"].includes(s.precision) && [
			s.warm,
			s.refresh,
			s.fold_in
		].every((n) => Number.isInteger(n) && n >= 0))) throw new RefusedError("version", "the terms ask for a form of cFPL that this page does not know.");
		return new Cfpl(s);
	}
	phases(info) {
		let width = this.s.factors + 1 + Number(this.counted), train = phase("train", message([table("items", "item", info.items, width, this.s.precision)])), prior = phase("prior", message([table("counts", "item", info.items, 1, this.s.precision, { bound: 1 })]), {
			repeat: 1,
			fetchesModel: !1,
			asks: "statistics"
		});
		return this.s.prior ? [prior, train] : [train];
	}
	publishes(info) {
		let { factors, precision } = this.s;
		return message([table("Q", "item", info.items, factors, precision), table("b", "item", info.items, 1, precision)]);
	}
	publicCounts() {
		return null;
	}
	clientInit(_info, _history, rng) {
		let normals = rng.stream(Purpose.INIT).normals(this.s.factors);
		return { p: this.vector(normals.map((x) => SPREAD$1 * x)) };
	}
	clientStep(context, state, history, rng) {
		if (context.phase === "prior") return {
			state,
			update: this.ones(history, rng)
		};
		let p = this.vector(state.p);
		this.passes(context, p, history, rng.stream(Purpose.WARM), this.s.warm);
		let triples = drawTriples(context.info, history, this.visits(context.info, history), rng.stream(Purpose.TRIPLES)), coins = rng.stream(Purpose.COINS), shared = triples.own.map((row) => coins.coin(history.consent[row])), update = this.climb(context.model, this.s.alpha / (1 + this.s.rate_decay * context.round), p, triples, shared, history);
		return {
			state: { p },
			update
		};
	}
	clientDiscloses(of, update, history) {
		return heldRows(of, update, history);
	}
	clientReady(context, state, history, rng) {
		let p = this.vector(state.p);
		return this.passes(context, p, history, rng.stream(Purpose.REFRESH), this.s.refresh), { p };
	}
	clientFoldIn(context, history, rng) {
		if (!history.item.length) return { p: this.vector(new Float64Array(this.s.factors)) };
		let p = this.clientInit(context.info, history, rng).p;
		return this.passes(context, p, history, rng.stream(Purpose.FOLD_IN), this.s.fold_in), { p };
	}
	clientScore(context, state) {
		let { Q, b } = context.model, p = state.p, F = this.s.factors, scores = emptyValues(this.s.precision, context.info.items);
		for (let item = 0; item < scores.length; item++) {
			let sum = 0;
			for (let f = 0, at = item * F; f < F; f++) sum += p[f] * Q[at + f];
			scores[item] = sum + b[item];
		}
		return scores;
	}
	clientTerms() {
		return null;
	}
	likeness(context, item, own) {
		let Q = context.model.Q, F = this.s.factors, dot = (i, j) => {
			let sum = 0;
			for (let f = 0; f < F; f++) sum += Q[i * F + f] * Q[j * F + f];
			return sum;
		};
		return Float64Array.from(own, (i) => dot(i, item) / (Math.sqrt(dot(i, i) * dot(item, item)) || 1));
	}
	get counted() {
		return this.s.optimiser === "per-contributor";
	}
	vector(values) {
		return this.s.precision === "float32" ? Float32Array.from(values) : Float64Array.from(values);
	}
	visits(info, history) {
		return this.s.triples === "own" ? history.item.length : this.s.triples === "mean" ? Math.max(1, Math.floor(info.interactions / info.clients)) : this.s.triples;
	}
	ones(history, rng) {
		let coins = rng.stream(Purpose.COINS), shared = history.item.filter((_, row) => coins.coin(history.consent[row]));
		return {
			tables: { counts: {
				index: shared,
				values: emptyValues(this.s.precision, shared.length).fill(1)
			} },
			scalars: {}
		};
	}
	passes(context, p, history, stream, times) {
		let { own, other } = drawTriples(context.info, history, times * history.item.length, stream), { Q } = context.model, r = this.round, alpha = r(this.s.alpha), lambda = r(this.s.alpha / 20), F = this.s.factors;
		own.forEach((row, t) => {
			let i = history.item[row] * F, j = other[t] * F, g = this.slope(context.model, p, history.item[row], other[t]);
			for (let f = 0; f < F; f++) {
				let step = r(r(g * r(Q[i + f] - Q[j + f])) - r(lambda * p[f]));
				p[f] = r(p[f] + r(alpha * step));
			}
		});
	}
	climb(model, rate, p, triples, shared, history) {
		let r = this.round, F = this.s.factors, Q = model.Q, sum = new RowSum(F + 1 + Number(this.counted), this.s.precision), alpha = r(rate), own = r(this.s.alpha / 20), negative = r(this.s.alpha / 200), before = this.s.version === "equations" ? this.vector(p) : p, row = new Float64Array(F + 1);
		return triples.own.forEach((place, t) => {
			let i = history.item[place], j = triples.other[t], g = this.slope(model, before, i, j);
			if (shared[t]) {
				for (let f = 0; f < F; f++) row[f] = r(r(g * before[f]) - r(own * Q[i * F + f]));
				row[F] = g, sum.add(i, row, r);
			}
			for (let f = 0; f < F; f++) row[f] = r(r(-g * before[f]) - r(negative * Q[j * F + f]));
			row[F] = -g, sum.add(j, row, r);
			let held = before === p ? null : before;
			for (let f = 0; f < F; f++) {
				let step = r(r(g * r(Q[i * F + f] - Q[j * F + f])) - r(own * (held ?? p)[f]));
				p[f] = r(p[f] + r(alpha * step));
			}
		}), {
			tables: { items: sum.rows() },
			scalars: {}
		};
	}
	slope(model, p, i, j) {
		let Q = model.Q, b = model.b, r = this.round, F = this.s.factors, first = 0, second = 0;
		for (let f = 0; f < F; f++) first = r(first + r(p[f] * Q[i * F + f])), second = r(second + r(p[f] * Q[j * F + f]));
		let x = r(r(r(b[i] + first) - b[j]) - second);
		return r(1 / r(1 + r(Math.exp(x))));
	}
}, RowSum = class {
	width;
	precision;
	sums = new Map();
	constructor(width, precision) {
		this.width = width, this.precision = precision;
	}
	add(item, row, r) {
		let sum = this.sums.get(item);
		sum || this.sums.set(item, sum = new Float64Array(this.width).fill(1, row.length));
		for (let f = 0; f < row.length; f++) sum[f] = r(sum[f] + row[f]);
	}
	rows() {
		let index = Int32Array.from(this.sums.keys()).sort(), values = emptyValues(this.precision, index.length * this.width);
		return index.forEach((item, n) => values.set(this.sums.get(item), n * this.width)), {
			index,
			values
		};
	}
};
// src/methods/released_counts.ts
function takesPart(value, from) {
	return from === null || value >= from;
}
function sharedItems(history, rng, valueFrom) {
	let coins = rng.stream(Purpose.COINS), open = Array.from(history.consent, (share) => coins.coin(share));
	return history.item.filter((_, row) => open[row] && takesPart(history.value[row], valueFrom));
}
function releasedCounts(model) {
	let counts = Array.from(model.counts);
	return counts.some((count) => count > 0) ? counts : null;
}
function countedRows(of, update, history) {
	let held = new Set(of.name === "counts" ? update.own ?? update.tables.counts.index : []);
	return Array.from(history.item, (item) => held.has(item));
}
// src/methods/pair_scores.ts
function pairScores(s, model, own, time) {
	let counts = model.counts, items = weighed(s, counts), parts = weights$1(s, model, items.length), places = new Map(items.map((item, place) => [item, place])), known = parts.length ? own.flatMap((item, row) => places.has(item) ? [row] : []) : [];
	if (!known.length) return Float32Array.from(counts);
	let z = recency(time ?? own.map(() => 0), s.recency);
	return scoresOfPart(items, counts, parts.map(({ share, weigh }) => {
		let scores = new Float64Array(items.length);
		for (let row of known) weigh(places.get(own[row]), scores, Math.fround(z[row]));
		return {
			share,
			scores: Float32Array.from(scores)
		};
	}), s.discount);
}
function scoresOfPart(items, counts, found, discount) {
	let mixed = found.length === 1 && !discount ? found[0].scores : blended(found);
	return discount && items.forEach((item, n) => mixed[n] = mixed[n] - discount * Math.log(counts[item] + 1)), withOthers(mixed, items, counts);
}
function weightsTo(s, model, item, own) {
	let items = weighed(s, model.counts), parts = weights$1(s, model, items.length), target = items.indexOf(item);
	if (target < 0 || parts.length !== 1) return null;
	let places = new Map(items.map((one, place) => [one, place])), scores = new Float64Array(items.length);
	return Float64Array.from(own, (one) => {
		let place = places.get(one);
		return place === void 0 ? 0 : (scores.fill(0), parts[0].weigh(place, scores, 1), scores[target]);
	});
}
function weights$1(s, model, n) {
	let parts = [], { ease, neighbours, similarity } = model;
	return ease && parts.push({
		share: s.ease,
		weigh: (source, into, z) => {
			for (let target = 0; target < n; target++) into[target] += z * ease[source * n + target];
		}
	}), neighbours && similarity && parts.push({
		share: s.knn,
		weigh: nearest(neighbours, similarity, n)
	}), parts;
}
function nearest(neighbours, similarity, n) {
	let k = neighbours.length / n, sources = Array.from({ length: n }, () => []);
	for (let target = 0; target < n; target++) for (let at = target * k; at < (target + 1) * k; at++) similarity[at] > 0 && sources[neighbours[at]].push([target, similarity[at]]);
	return (source, into, z) => {
		for (let [target, weight] of sources[source]) into[target] += z * weight;
	};
}
function blended(found) {
	let total = new Float32Array(found[0].scores.length);
	for (let { share, scores } of found) {
		let mean = scores.reduce((a, b) => a + b, 0) / scores.length, spread = Math.sqrt(scores.reduce((a, b) => a + (b - mean) ** 2, 0) / scores.length) || 1;
		scores.forEach((score, n) => total[n] = total[n] + share * (score - mean) / spread);
	}
	return total;
}
function withOthers(scores, items, counts) {
	let least = scores.reduce((a, b) => Math.min(a, b), Infinity), every = Float32Array.from(counts, (count) => least - 1 / (1 + count));
	return items.forEach((item, n) => every[item] = scores[n]), every;
}
function recency(time, power) {
	return power ? time.map((when) => {
		let newer = 0, same = 0;
		for (let other of time) newer += Number(other > when), same += Number(other === when);
		return (1 + newer + (same - 1) / 2) ** -power;
	}) : time.map(() => 1);
}
// src/proofs/field.ts
var MODULUS = 2n ** 64n - 2n ** 32n + 1n, TWO_POWER = 2 ** 32, GENERATOR = power(7n, (MODULUS - 1n) / BigInt(TWO_POWER));
function reduced(value) {
	let rest = value % MODULUS;
	return rest < 0n ? rest + MODULUS : rest;
}
function power(base, exponent) {
	let result = 1n;
	for (let left = exponent, square = base; left > 0n; left >>= 1n) left & 1n && (result = result * square % MODULUS), square = square * square % MODULUS;
	return result;
}
function inverse(value) {
	return power(value, MODULUS - 2n);
}
function rootOfUnity(order) {
	return power(GENERATOR, BigInt(TWO_POWER / order));
}
function inner(a, b) {
	let found = 0n;
	for (let i = 0; i < a.length; i++) a[i] && b[i] && (found += a[i] * b[i]);
	return found % MODULUS;
}
function total(a) {
	let found = 0n;
	for (let one of a) found += one;
	return found % MODULUS;
}
function difference(a, b) {
	return a >= b ? a - b : a + MODULUS - b;
}
function less(a, b) {
	let result = new BigUint64Array(a.length);
	for (let i = 0; i < a.length; i++) result[i] = difference(a[i], b[i]);
	return result;
}
function joined(...parts) {
	let whole = new BigUint64Array(parts.reduce((length, part) => length + part.length, 0)), at = 0;
	for (let part of parts) whole.set(part, at), at += part.length;
	return whole;
}
function packed(numbers) {
	let bytes = new Uint8Array(8 * numbers.length), to = new DataView(bytes.buffer);
	return numbers.forEach((value, place) => to.setBigUint64(8 * place, value, !0)), bytes;
}
async function expanded(seed, count) {
	let key = await crypto.subtle.importKey("raw", concat(seed), "AES-CTR", !1, ["encrypt"]), found = new BigUint64Array(count), taken = 0;
	for (let block = 0; taken < count;) {
		let blocks = Math.ceil((count - taken) / 2) + 1, counter = new Uint8Array(16);
		new DataView(counter.buffer).setBigUint64(8, BigInt(block));
		let zeros = new Uint8Array(16 * blocks), stream = await crypto.subtle.encrypt({
			name: "AES-CTR",
			counter,
			length: 128
		}, key, zeros), words = new DataView(stream);
		for (let at = 0; at < stream.byteLength && taken < count; at += 8) {
			let word = words.getBigUint64(at, !0);
			word < MODULUS && (found[taken++] = word);
		}
		block += blocks;
	}
	return found;
}
// src/proofs/pair_words.ts
function countersInAWord(base) {
	let k = 0;
	for (let power = base; power <= MODULUS; power *= base) k++;
	return k;
}
var PairWords = class {
	bounds;
	diagonal;
	words;
	groups;
	classes = [];
	start = [];
	constructor(bounds, diagonal = !1) {
		this.bounds = bounds, this.diagonal = diagonal;
		let n = bounds.length, sizes = bounds.map((bound) => countersInAWord(BigInt(bound) + 1n)), [words, groups] = [0, 0];
		for (let first = 0, end = 0; first < n; first = end) {
			for (; end < n && sizes[end] === sizes[first];) end++;
			let size = sizes[first], base = BigInt(bounds[end - 1]) + 1n, powers = Array.from({ length: size }, (_, digit) => base ** BigInt(digit)), count = Math.ceil((n - first) / size);
			for (let i = first; i < end; i++) this.start.push(words), words += count - Math.floor((i - first) / size);
			this.classes.push({
				first,
				end,
				size,
				powers,
				group: groups
			}), groups += count;
		}
		[this.words, this.groups] = [words, groups];
	}
	get ranks() {
		return this.bounds.length;
	}
	wordsOf([first, end]) {
		return [this.startOf(first), this.startOf(end)];
	}
	rowsOf(part, parts) {
		let at = (number) => {
			let cut = Math.floor(this.words * number / parts), found = this.start.findIndex((start) => start >= cut);
			return found < 0 ? this.ranks : found;
		};
		return [at(part), part === parts - 1 ? this.ranks : at(part + 1)];
	}
	addInto(words, own, weight = 1n) {
		own.forEach((i, at) => {
			let { first, size, powers } = this.classOf(i), row = this.start[i] - Math.floor((i - first) / size);
			for (let other = this.diagonal ? at : at + 1; other < own.length; other++) {
				let place = own[other] - first, word = row + Math.floor(place / size);
				words[word] = words[word] + weight * powers[place % size];
			}
		});
	}
	rowSums(x, t) {
		let n = this.ranks, sums = new BigUint64Array(n);
		for (let { first, end, size, powers, group } of this.classes) {
			let after = 0n;
			for (let g = Math.ceil((n - first) / size) - 1; g >= 0; g--) {
				let factor = t[group + g], part = 0n;
				for (let i = Math.min(first + (g + 1) * size, n) - 1; i >= first + g * size; i--) {
					let above = part;
					part = (part + powers[i - first - g * size] * x[i]) % MODULUS, i < end && (sums[i] = (after + factor * (this.diagonal ? part : above)) % MODULUS);
				}
				after = (after + factor * part) % MODULUS;
			}
		}
		return sums;
	}
	wordSum(words, r, t) {
		let found = 0n;
		for (let { first, end, size, group } of this.classes) for (let i = first; i < end; i++) {
			let own = group + Math.floor((i - first) / size), row = words.subarray(this.start[i], this.startOf(i + 1));
			found += r[i] * inner(row, t.subarray(own, own + row.length));
		}
		return found % MODULUS;
	}
	startOf(rank) {
		return this.start[rank] ?? this.words;
	}
	classOf(rank) {
		return this.classes.find(({ end }) => rank < end);
	}
}, RankedItems = class {
	items;
	bounds;
	pairs;
	constructor(counts, least) {
		let there = counts.flatMap((count, item) => count >= Math.max(1, least) ? [item] : []);
		this.items = there.sort((a, b) => counts[a] - counts[b] || a - b), this.bounds = this.items.map((item) => counts[item]), this.pairs = new PairWords(this.bounds);
	}
}, Cooccurrence = class Cooccurrence {
	s;
	releasesCounts = !0;
	usesFeatures = !1;
	ranking = null;
	constructor(s) {
		this.s = s;
	}
	static of(settings) {
		let s = settings, whole = [
			s.k,
			s.least,
			s.parts
		].every((n) => Number.isInteger(n) && n > 0), shares = [
			s.ease,
			s.knn,
			s.order,
			s.features,
			s.recency,
			s.discount,
			s.cap
		].every((x) => x >= 0);
		if (!whole || !shares || s.order !== 0 || !(s.ease || s.knn)) throw new RefusedError("version", "the terms ask for sums of co-occurrences that this page does not know.");
		return new Cooccurrence(s);
	}
	phases(info) {
		let exact = { exact: {
			most: info.people,
			of: "device"
		} }, counts = message([table("counts", "item", info.items, 1, "uint32", exact)]), pairs = this.pairPhases.map((name, part) => this.pairPhase(info, name, part));
		return [phase("counts", counts, {
			repeat: 1,
			fetchesModel: !1,
			claim: this.countsClaim(info)
		}), ...pairs];
	}
	publishes(info) {
		let n = info.counts === null ? 0 : weighed(this.s, info.counts).length, k = Math.min(this.s.k, n - 1), counts = table("counts", "item", info.items, 1, "uint32");
		if (n < 2) return message([counts]);
		let ease = this.s.ease ? [table("ease", "dense", n, n)] : [], knn = this.s.knn ? [table("neighbours", "dense", n, k, "uint32"), table("similarity", "dense", n, k)] : [];
		return message([
			counts,
			...ease,
			...knn,
			table("exposed", "dense", 1, 1, "uint32")
		]);
	}
	publicCounts(model) {
		return releasedCounts(model);
	}
	clientInit(info) {
		return { counted: new Uint8Array(info.items) };
	}
	clientStep(context, state, history, rng) {
		let shared = sharedItems(history, rng, this.s.value_from);
		if (context.phase === "counts") {
			let counted = new Uint8Array(context.info.items), some = evenly(shared, this.s.cap);
			return some.forEach((item) => counted[item] = 1), {
				state: { counted },
				update: {
					tables: {},
					scalars: {},
					own: some
				}
			};
		}
		let counted = state.counted;
		return {
			state,
			update: {
				tables: {},
				scalars: {},
				own: shared.filter((item) => counted[item])
			}
		};
	}
	clientDiscloses(of, update, history) {
		return countedRows(of, update, history);
	}
	clientReady(_context, state) {
		return state;
	}
	clientFoldIn(context) {
		return this.clientInit(context.info);
	}
	clientScore(context, _state, history) {
		let rows = Array.from(history.value.keys()).filter((row) => takesPart(history.value[row], this.s.value_from)), own = rows.map((row) => history.item[row]), time = history.time && rows.map((row) => history.time[row]);
		return pairScores(this.s, context.model, own, time);
	}
	clientTerms() {
		return null;
	}
	likeness(context, item, own) {
		return weightsTo(this.s, context.model, item, own);
	}
	get pairPhases() {
		return this.s.parts > 1 ? Array.from({ length: this.s.parts }, (_, n) => `pairs-${n + 1}`) : ["pairs"];
	}
	pairPhase(info, name, part) {
		let asked = {
			repeat: 1,
			fetchesModel: !1,
			part: 1 / this.s.parts,
			follows: "counts"
		}, ranked = this.ranked(info);
		if (!ranked || ranked.items.length < 2) return phase(name, message([]), asked);
		let rows = ranked.pairs.rowsOf(part, this.s.parts), [start, end] = ranked.pairs.wordsOf(rows);
		if (end === start) return phase(name, message([]), asked);
		let places = new Map(info.listed.map((item, place) => [item, place])), claim = {
			kind: "pairs",
			counted: this.countsClaim(info),
			ranked: ranked.items.map((item) => places.get(item)),
			bounds: ranked.bounds,
			rows: this.s.parts > 1 ? rows : null
		};
		return phase(name, message([table("pairs", "dense", end - start, 1, "uint64")]), {
			...asked,
			claim
		});
	}
	countsClaim({ listed, people }) {
		return {
			kind: "counts",
			items: listed,
			people,
			cap: Math.min(this.s.cap || listed.length, listed.length)
		};
	}
	ranked({ counts }) {
		return counts === null ? null : (this.ranking?.counts !== counts && (this.ranking = {
			counts,
			ranked: new RankedItems(counts, this.s.least)
		}), this.ranking.ranked);
	}
};
function evenly(items, cap) {
	return items.filter((_, place) => !cap || (place + 1) * cap % items.length < cap);
}
function weighed(s, counts) {
	let every = Array.from(counts), least = s.features ? 0 : s.least;
	return every.some((count) => count > 0) ? every.flatMap((count, item) => count >= least ? [item] : []) : [];
}
// src/methods/gain.ts
var LEAST = 1e-9;
function gain(measure, p, n, half) {
	let size = 2 * half, t = p + n;
	if (measure === "gini") {
		let absent = (half - p) * (half - n) / Math.max(size - t, 1);
		return 1 - 2 * (2 * (p * n / Math.max(t, 1) + absent)) / size;
	}
	let found = 1 - (bits$1(t) - bits$1(p) - bits$1(n) + (bits$1(size - t) - bits$1(half - p) - bits$1(half - n))) / size;
	if (measure === "information-gain") return found;
	let about = (bits$1(size) - bits$1(t) - bits$1(size - t)) / size;
	return about > 1e-9 ? found / Math.max(about, LEAST) : 0;
}
function bits$1(x) {
	return x * Math.log2(Math.max(x, 1));
}
function drawNegatives(info, own, n, popular, stream) {
	let mine = new Set(Array.from(own)), { counts, listed } = info;
	if (!mine.size || listed.every((item) => mine.has(item))) return [];
	let end = 0, edges = listed.map((item) => end += popular && counts ? Math.max(counts[item], 1) : 1);
	return Array.from({ length: n }, () => {
		let item;
		do
			item = listed[after(edges, stream.below(end))];
		while (mine.has(item));
		return item;
	});
}
function after(edges, drawn) {
	let low = 0, high = edges.length - 1;
	for (; low < high;) {
		let middle = low + high >> 1;
		edges[middle] > drawn ? high = middle : low = middle + 1;
	}
	return low;
}
// src/methods/kgflex.ts
var SPREAD = .1, POWER = {
	sum: 0,
	root: .5,
	mean: 1
}, Kgflex = class Kgflex {
	s;
	releasesCounts = !1;
	usesFeatures = !0;
	constructor(s) {
		this.s = s;
	}
	static of(settings) {
		let s = settings;
		if (!([
			s.factors,
			s.first_limit,
			s.second_limit,
			s.fold_in,
			s.negatives
		].every((n) => Number.isInteger(n) && n >= 0) && s.factors > 0 && s.negatives > 0 && s.alpha > 0 && s.least >= 0 && ["drop", "keep"].includes(s.unshared) && ["float32", "float64"].includes(s.precision) && [
			"information-gain",
			"gain-ratio",
			"gini"
		].includes(s.measure) && ["uniform", "popular"].includes(s.drawn) && Object.hasOwn(POWER, s.visit) && (s.clip_update === null || s.clip_update > 0) && !s.reg)) throw new RefusedError("version", "the terms ask for a form of KGFlex that this page does not know.");
		return new Kgflex(s);
	}
	phases(info) {
		let width = this.s.factors + 1 + Number(this.counted);
		return [phase("train", message([table("features", "feature", info.featureCount ?? 0, width, this.s.precision)]))];
	}
	publishes(info) {
		let { factors, precision } = this.s, rows = info.featureCount ?? 0;
		return message([table("G", "feature", rows, factors, precision), table("b", "feature", rows, 1, precision)]);
	}
	publicCounts() {
		return null;
	}
	clientInit(info, history, rng) {
		let { feature, k } = this.informative(info, history, rng.stream(Purpose.GAIN)), P = rng.stream(Purpose.INIT).normals(feature.length * this.s.factors).map((x) => SPREAD * x);
		return {
			feature,
			k: this.vector(k),
			P: this.vector(P)
		};
	}
	clientStep(context, state, history, rng) {
		let views = state, { info } = context, features = known(info), F = this.s.factors, coins = rng.stream(Purpose.COINS), shared = Array.from(history.consent, (share) => coins.coin(share)), leaving = new Set();
		history.item.forEach((item, row) => {
			shared[row] && featuresOf(features, item).forEach((f) => leaving.add(f));
		});
		let triples = drawTriples(info, history, history.item.length, rng.stream(Purpose.TRIPLES)), { c, sent, touched } = this.climb(context, views, history.item, triples, shared), places = Array.from(views.feature.keys()).filter((at) => touched[at] && leaving.has(views.feature[at]));
		places.sort((a, b) => views.feature[a] - views.feature[b]);
		let rows = places.map((at) => {
			let p = views.P.subarray(at * F, (at + 1) * F);
			return [...Array.from(p, (x) => sent[at] * x), sent[at]];
		}), update = {
			tables: { features: {
				index: Int32Array.from(places, (at) => views.feature[at]),
				values: this.packedRows(rows)
			} },
			scalars: {}
		};
		return {
			state: {
				...state,
				P: this.moved(context, views, c)
			},
			update
		};
	}
	clientDiscloses(_of, update, history) {
		let any = update.tables.features.index.length > 0;
		return Array.from(history.consent, (share) => any && share > 0);
	}
	clientReady(_context, state) {
		return state;
	}
	clientFoldIn(context, history, rng) {
		let stream = rng.stream(Purpose.FOLD_IN), nothing = Array.from(history.item, () => !1), state = this.clientInit(context.info, history, rng);
		for (let visit = 0; visit < this.s.fold_in; visit++) {
			let views = state, triples = drawTriples(context.info, history, history.item.length, stream);
			state = {
				...state,
				P: this.moved(context, views, this.climb(context, views, history.item, triples, nothing).c)
			};
		}
		return state;
	}
	clientScore(context, state) {
		return this.clientTerms(context, state).scores;
	}
	clientTerms(context, state, without = new Set()) {
		let views = state, features = known(context.info), names = readableNames(features.labels), value = this.terms(context, views), scores = new Float64Array(context.info.items), places = new Map(Array.from(views.feature, (f, at) => [f, at])), items = [];
		for (let item = 0; item < context.info.items; item++) {
			let own = [];
			for (let f of featuresOf(features, item)) {
				let at = places.get(f);
				at !== void 0 && !without.has(names[f]) && own.push([at, value[at]]);
			}
			own.sort(([a], [b]) => a - b), items.push(own);
			for (let [, term] of own) scores[item] += term;
		}
		let gains = Float64Array.from(views.k), { feature } = views;
		return {
			names: Array.from(feature, (f) => names[f]),
			feature,
			gains,
			items,
			scores
		};
	}
	likeness() {
		return null;
	}
	get counted() {
		return this.s.optimiser === "per-contributor";
	}
	vector(values) {
		return this.s.precision === "float32" ? Float32Array.from(values) : Float64Array.from(values);
	}
	informative(info, history, stream) {
		let own = history.item, features = known(info), half = this.s.negatives * own.length, negatives = drawNegatives(info, own, half, this.s.drawn === "popular", stream);
		if (!negatives.length) return {
			feature: new Int32Array(),
			k: []
		};
		let p = counted$1(features, own), n = counted$1(features, negatives), best = [...p].map(([f, times]) => ({
			f,
			k: gain(this.s.measure, this.s.negatives * times, n.get(f) ?? 0, half),
			far: hopsOf(features.labels[f]) > 1
		})).filter(({ k }) => k > this.s.least + LEAST).sort((a, b) => b.k - a.k || a.f - b.f), chosen = [...best.filter(({ far }) => !far).slice(0, this.s.first_limit), ...best.filter(({ far }) => far).slice(0, this.s.second_limit)];
		return {
			feature: Int32Array.from(chosen, ({ f }) => f),
			k: chosen.map(({ k }) => k)
		};
	}
	climb(context, views, own, triples, shared) {
		let features = known(context.info), value = this.terms(context, views), m = value.length, places = new Map(Array.from(views.feature, (f, at) => [f, at])), slots = (item) => Array.from(featuresOf(features, item)).flatMap((f) => places.get(f) ?? []), c = new Float64Array(m), sent = new Float64Array(m), touched = new Uint8Array(m);
		triples.own.forEach((row, t) => {
			let mine = slots(own[row]), other = slots(triples.other[t]);
			if (this.s.unshared === "drop" && !(mine.length && other.length)) return;
			let x = sum(mine, value) - sum(other, value), g = 1 / (1 + Math.exp(Math.min(x, 700)));
			for (let [held, sign] of [[mine, g], [other, -g]]) for (let at of held) c[at] += sign * views.k[at], shared[row] && (sent[at] += sign * views.k[at], touched[at] = 1);
		});
		let scale = Math.max(triples.own.length, 1) ** -POWER[this.s.visit];
		return {
			c: c.map((x) => x * scale),
			sent: sent.map((x) => x * scale),
			touched
		};
	}
	terms({ model }, { feature, k, P }) {
		let F = this.s.factors, G = model.G, b = model.b;
		return Float64Array.from(feature, (f, at) => {
			let dot = 0;
			for (let n = 0; n < F; n++) dot += P[at * F + n] * G[f * F + n];
			return k[at] * (dot + b[f]);
		});
	}
	moved({ model }, { feature, P }, c) {
		let F = this.s.factors, G = model.G, after = this.vector(P);
		return feature.forEach((f, at) => {
			for (let n = 0; n < F; n++) after[at * F + n] = P[at * F + n] + this.s.alpha * c[at] * G[f * F + n];
		}), after;
	}
	packedRows(rows) {
		let values = this.vector(rows.flat()), { clip_update: clip } = this.s;
		if (clip !== null && values.length) {
			let squares = Array.from(values).reduce((total, x) => total + x * x, 0), factor = Math.min(1, clip / Math.max(Math.sqrt(squares), 1e-300));
			values.forEach((x, n) => values[n] = x * (this.s.precision === "float32" ? Math.fround(factor) : factor));
		}
		if (!this.counted) return values;
		let width = this.s.factors + 2, wide = emptyValues(this.s.precision, rows.length * width).fill(1);
		return rows.forEach((_, n) => wide.set(values.subarray(n * (width - 1), (n + 1) * (width - 1)), n * width)), wide;
	}
};
function counted$1(features, items) {
	let times = new Map();
	for (let item of items) for (let f of featuresOf(features, item)) times.set(f, (times.get(f) ?? 0) + 1);
	return times;
}
function sum(places, value) {
	return places.reduce((total, at) => total + value[at], 0);
}
function known(info) {
	if (!info.features) throw malformed("this method needs features of the items, but the federation names none.");
	return info.features;
}
// src/methods/private_cooccurrence.ts
var FEWEST = 200, CLIENTS_PER_ITEM = 4, FEW = 8, PrivateCooccurrence = class PrivateCooccurrence {
	s;
	releasesCounts = !0;
	usesFeatures = !1;
	constructor(s) {
		this.s = s;
	}
	static of(settings) {
		let s = settings;
		if (![s.core_items, s.eigenvectors].every((n) => Number.isInteger(n) && n >= 0) || !(s.recency >= 0 && s.discount >= 0)) throw new RefusedError("version", "the terms ask for normalised sums that this page does not know.");
		return new PrivateCooccurrence(s);
	}
	phases(info) {
		let { people } = info, once = {
			repeat: 1,
			fetchesModel: !1,
			longest: 1
		}, few = Math.max(1, Math.floor(info.interactions / (FEW * info.clients * people))), counted = {
			kind: "weighted counts",
			items: info.listed,
			people,
			few
		}, counts = phase("counts", message([table("counts", "item", info.items, 1, "float32", { bound: people })]), {
			...once,
			claim: counted
		});
		if (!this.s.eigenvectors) return [counts];
		let pairs = table("pairs", "dense", triangle(this.coreSize(info)), 1, "float32", { bound: people }), claim = {
			...counted,
			kind: "weighted pairs",
			items: [...this.places(info).keys()]
		};
		return [counts, phase("pairs", message([pairs]), {
			...once,
			follows: "counts",
			claim
		})];
	}
	publishes(info) {
		let counts = table("counts", "item", info.items, 1, "uint32");
		return this.s.eigenvectors ? message([counts, table("factors", "dense", this.coreSize(info), this.s.eigenvectors)]) : message([counts]);
	}
	publicCounts(model) {
		return releasedCounts(model);
	}
	clientInit() {
		return {};
	}
	clientStep(context, state, history, rng) {
		let shared = sharedItems(history, rng, this.s.value_from);
		if (context.phase === "counts") return {
			state,
			update: {
				tables: { counts: {
					index: shared,
					values: new Float32Array(shared.length).fill(shared.length ** -.5)
				} },
				scalars: {},
				own: shared
			}
		};
		let places = this.places(context.info), ranks = Array.from(shared).flatMap((item) => places.get(item) ?? []), values = new Float32Array(triangle(places.size));
		return ranks.forEach((a, at) => {
			let row = a * places.size - a * (a - 1) / 2 - a;
			for (let b of ranks.slice(at)) values[row + b] = (a === b ? 1 : Math.sqrt(2)) / ranks.length;
		}), {
			state,
			update: {
				tables: { pairs: {
					index: Int32Array.from(values.keys()),
					values
				} },
				scalars: {},
				own: shared
			}
		};
	}
	clientDiscloses(of, update, history) {
		return countedRows(of, update, history);
	}
	clientReady(_context, state) {
		return state;
	}
	clientFoldIn() {
		return {};
	}
	clientScore({ info, model }, _state, history) {
		let counts = model.counts;
		if (!this.s.eigenvectors || info.counts === null) return Float32Array.from(counts);
		let places = this.places(info), rows = Array.from(history.item.keys()).filter((row) => takesPart(history.value[row], this.s.value_from)), z = recency(history.time ? rows.map((row) => history.time[row]) : rows.map(() => 0), this.s.recency), known = rows.flatMap((row, n) => {
			let place = places.get(history.item[row]);
			return place === void 0 ? [] : [{
				place,
				weight: Math.fround(z[n])
			}];
		});
		if (!known.length) return Float32Array.from(counts);
		let scores = lowRankScores(model.factors, this.s.eigenvectors, known);
		return scoresOfPart([...places.keys()], counts, [{
			share: 1,
			scores
		}], this.s.discount);
	}
	clientTerms() {
		return null;
	}
	likeness({ info, model }, item, own) {
		let places = this.places(info), target = places.get(item);
		return !this.s.eigenvectors || info.counts === null || target === void 0 ? null : Float64Array.from(own, (one) => {
			let place = places.get(one);
			return place === void 0 ? 0 : lowRankScores(model.factors, this.s.eigenvectors, [{
				place,
				weight: 1
			}])[target];
		});
	}
	coreSize(info) {
		let most = Math.max(FEWEST, Math.floor(info.clients / CLIENTS_PER_ITEM));
		return this.s.eigenvectors ? Math.min(this.s.core_items, most, info.listed.length) : 0;
	}
	places(info) {
		let counts = (item) => info.counts?.[item] ?? 0, order = [...info.listed].sort((a, b) => counts(b) - counts(a) || a - b).slice(0, this.coreSize(info));
		return new Map(order.sort((a, b) => a - b).map((item, place) => [item, place]));
	}
};
function triangle(n) {
	return n * (n + 1) / 2;
}
function lowRankScores(A, rank, own) {
	let taste = new Float64Array(rank);
	for (let { place, weight } of own) for (let f = 0; f < rank; f++) taste[f] += weight * A[place * rank + f];
	return Float32Array.from({ length: A.length / rank }, (_, item) => {
		let dot = 0, squares = 0;
		for (let f = 0; f < rank; f++) {
			let a = A[item * rank + f];
			dot += a * taste[f], squares += a * a;
		}
		return dot / (1 - squares);
	});
}
// src/methods/registry.ts
var METHODS = {
	...named(Cfpl.of, "cfpl", "dp-cfpl", "sfpl", "sfpl+", "pfpl", "pfpl+"),
	...named(Cooccurrence.of, "fed-item-knn", "fed-order"),
	...named((settings) => ("eigenvectors" in settings ? PrivateCooccurrence : Cooccurrence).of(settings), "fed-ease"),
	...named(PrivateCooccurrence.of, "fed-mostpop"),
	...named(Kgflex.of, "kgflex", "ckgflex")
}, MADE = new WeakMap();
function methodOf({ method, settings }) {
	let made = Object.hasOwn(METHODS, method) ? METHODS[method] : void 0;
	if (!made || "criteria" in settings) throw new RefusedError("version", `the terms ask for the method '${method.slice(0, 40)}', unknown to this page.`);
	let known = MADE.get(settings) ?? made(settings);
	return MADE.set(settings, known), known;
}
function named(made, ...names) {
	return Object.fromEntries(names.map((name) => [name, made]));
}
// src/channel/layout.ts
var VectorLayout = class VectorLayout {
	sends;
	items;
	half;
	words;
	constructor(sends, items, half) {
		this.sends = sends, this.items = items, this.half = half;
		let tables = sends.tables.reduce((sum, one) => sum + this.rows(one) * one.width, 0);
		this.words = 1 + sends.scalars.length + tables;
	}
	static of(settings, sends, repeats, info) {
		let items = info.listed;
		if (settings.block === "core" && repeats) {
			let { counts } = info;
			if (counts === null) throw new DeviceError("block 'core' needs public counts of the items, but has none.");
			items = items.filter((item) => counts[item] >= settings.core);
		}
		return new VectorLayout(sends, items, settings.block === "half" && repeats);
	}
	rows(one) {
		return one.space === "item" ? this.half ? this.items.length + 1 >> 1 : this.items.length : one.rows;
	}
	slices() {
		let at = 1 + this.sends.scalars.length;
		return this.sends.tables.map((table) => ({
			table,
			start: at,
			end: at += this.rows(table) * table.width
		}));
	}
	block(round) {
		if (!this.half) return this.items;
		let n = this.items.length;
		return new Rng([0, 0], round).stream(Purpose.BLOCK).choose(n, n + 1 >> 1).map((place) => this.items[place]);
	}
	device(update, round) {
		let sent = {
			place: [],
			value: []
		}, put = (place, value) => {
			value !== 0 && (sent.place.push(place), sent.value.push(value));
		};
		this.sends.scalars.forEach((name, n) => put(1 + n, update.scalars[name]));
		let places = new Map(this.block(round).map((item, place) => [item, place]));
		for (let { table, start } of this.slices()) {
			let { index, values } = update.tables[table.name];
			index.forEach((row, n) => {
				let at = table.space === "item" ? places.get(row) : row;
				for (let k = 0; at !== void 0 && k < table.width; k++) put(start + at * table.width + k, values[n * table.width + k]);
			});
		}
		return sent;
	}
}, Ring = class {
	bits;
	words;
	constructor(bits, words) {
		this.bits = bits, this.words = words;
	}
	get messageBytes() {
		return this.words * this.bits / 8;
	}
	wrap(value) {
		let whole = 2 ** this.bits;
		return (value % whole + whole) % whole;
	}
	pack(vector) {
		let each = this.bits / 8, bytes = new Uint8Array(this.messageBytes);
		for (let n = 0; n < this.words; n++) for (let k = 0; k < each; k++) bytes[n * each + k] = vector[n] >>> 8 * k;
		return bytes;
	}
	unpack(bytes) {
		if (bytes.length !== this.messageBytes) throw RangeError("a packed vector of another length");
		let each = this.bits / 8, vector = new Uint32Array(this.words);
		for (let n = 0; n < this.words; n++) {
			let word = 0;
			for (let k = 0; k < each; k++) word |= bytes[n * each + k] << 8 * k;
			vector[n] = word;
		}
		return vector;
	}
	less(one, other) {
		return one.map((word, n) => this.wrap(word - other[n]));
	}
	sum(one, other) {
		return one.map((word, n) => this.wrap(word + other[n]));
	}
}, FEWEST_BITS = 8, LEAST_NOISE = 16, LARGEST_NOISE = 8192, FARTHEST$1 = 17, Chain = class Chain {
	layout;
	ring;
	clip;
	bounds;
	steps;
	exact;
	noisy;
	constructor(layout, ring, clip, bounds, steps, exact, noisy) {
		this.layout = layout, this.ring = ring, this.clip = clip, this.bounds = bounds, this.steps = steps, this.exact = exact, this.noisy = noisy;
	}
	static of(settings, info, of) {
		let clip = Math.min(settings.clip, of.longest ?? settings.clip), own = {
			...settings,
			clip
		}, layout = VectorLayout.of(own, of.sends, of.repeats, info), bounds = new Float64Array(layout.words).fill(clip), exact = new Uint8Array(layout.words), limits = new Float64Array(layout.words).fill(limit(own.bits, clip, clip, of.multiplier));
		bounds[0] = limits[0] = 1;
		for (let { table, start, end } of layout.slices()) {
			let bound = table.exact ? 1 : largest(own, table);
			bounds.fill(bound, start, end), limits.fill(table.exact ? 1 : limit(bits(own, table, of.cohort), bound, clip, of.multiplier), start, end), table.exact && (exact.fill(1, start, end), checkFits(table, own.ring, of.cohort));
		}
		let steps = bounds.map((bound, n) => bound / limits[n]), sigma = noiseSteps(steps.subarray(1), of.multiplier * clip), most = limits.reduce((a, b) => Math.max(a, b), 1);
		if (of.cohort > Math.floor((2 ** (own.ring - 1) - 1 - FARTHEST$1 * sigma) / most)) throw new DeviceError(`a sum of ${of.cohort} devices must fit a ring of ${own.ring} bits, but could overflow.`);
		let ring = new Ring(own.ring, layout.words);
		return new Chain(layout, ring, clip, bounds, steps, exact, of.multiplier > 0);
	}
	get rows() {
		return this.layout.sends.tables.reduce((sum, one) => sum + this.layout.rows(one), 0);
	}
	device(update, rng, round) {
		let sent = this.layout.device(update, round), vector = new Uint32Array(this.ring.words);
		vector[0] = 1;
		let rounded = {
			place: [],
			value: []
		};
		return sent.place.forEach((place, n) => {
			this.exact[place] ? vector[place] = sent.value[n] : (rounded.place.push(place), rounded.value.push(sent.value[n]));
		}), this.fixedPoint(this.clipped(rounded), rng).forEach((value, n) => {
			vector[rounded.place[n]] = this.ring.wrap(value);
		}), vector;
	}
	clipped(sent) {
		let norm = length(sent.value), factor = norm <= this.clip ? 1 : this.clip / norm;
		return {
			place: sent.place,
			value: sent.value.map((value, n) => {
				let bound = this.bounds[sent.place[n]];
				return Math.min(bound, Math.max(-bound, factor === 1 ? value : value * factor));
			})
		};
	}
	fixedPoint(sent, rng) {
		let stream = rng.stream(Purpose.ROUNDING), step = (n) => this.steps[sent.place[n]], draws = stream.wordsAt(sent.place), rounded = sent.value.map((x, n) => Math.floor(x / step(n) + draws[n] * 2 ** -32));
		return this.noisy && length(rounded.map((k, n) => k * step(n))) > this.clip ? sent.value.map((x, n) => Math.trunc(x / step(n))) : rounded;
	}
};
function length(values) {
	let squares = 0;
	for (let value of values) squares += value * value;
	return Math.sqrt(squares);
}
function largest(settings, table) {
	return table.bound === null ? settings.coordinate === null ? settings.clip : Math.min(settings.clip, settings.coordinate) : Math.min(table.bound, settings.clip);
}
function bits(settings, table, cohort) {
	if (table.bound === null) return settings.bits;
	let headroom = settings.ring - 1 - cohort.toString(2).length;
	return Math.max(Math.min(settings.bits, headroom), Math.min(FEWEST_BITS, settings.bits));
}
function limit(bits, bound, clip, multiplier) {
	let whole = 2 ** (bits - 1);
	return Math.max(multiplier ? Math.min(whole, 2 ** Math.floor(Math.log2(LARGEST_NOISE * bound / (multiplier * clip)))) : whole, 2);
}
function noiseSteps(steps, deviation) {
	if (!deviation) return 0;
	let least = Infinity, most = 0;
	for (let step of steps) {
		let sigma = Math.ceil(deviation / step);
		least = Math.min(least, sigma), most = Math.max(most, sigma);
	}
	if (least < LEAST_NOISE || most > LARGEST_NOISE) throw new DeviceError(`noise must be of ${LEAST_NOISE} to ${LARGEST_NOISE} steps, but is not; take no part.`);
	return most;
}
function checkFits(table, ring, cohort) {
	let { most, of } = table.exact, each = typeof most == "number" ? most : most.reduce((a, b) => Math.max(a, b), 0);
	if ((of === "device" ? each * cohort : each) >= 2 ** ring) throw new DeviceError(`the exact table '${table.name}' must fit words of ${ring} bits, but could overflow.`);
}
// src/numerics/ranking.ts
function topK(scores, among, k, keep) {
	let best = [], least = -Infinity;
	for (let item of among) {
		let score = scores[item];
		if (best.length === k && !(score > least) || Number.isNaN(score) || !keep(item)) continue;
		let place = best.length < k ? best.length : k - 1;
		for (; place > 0 && scores[best[place - 1]] < score;) best[place] = best[place - 1], place--;
		best[place] = item, best.length === k && (least = scores[best[k - 1]]);
	}
	return k > 0 ? best : [];
}
// src/proofs/circuit.ts
var RangeBits = class {
	most;
	weights;
	sum;
	constructor(most) {
		this.most = most;
		let powers = Array.from({ length: most.toString(2).length - 1 }, (_, i) => 1n << BigInt(i));
		this.sum = powers.reduce((sum, one) => sum + one, 0n), this.weights = BigUint64Array.from([...powers, most - this.sum]);
	}
	get length() {
		return this.weights.length;
	}
	of(value) {
		let over = value > this.sum, rest = over ? value - this.weights.at(-1) : value, bits = Array.from({ length: this.length - 1 }, (_, i) => rest >> BigInt(i) & 1n);
		return BigUint64Array.from([...bits, over ? 1n : 0n]);
	}
	value(bits) {
		return inner(bits, this.weights);
	}
}, ProductGadget = class ProductGadget {
	products;
	chunk;
	constructor(products, chunk) {
		this.products = products, this.chunk = chunk;
	}
	static of(products) {
		let best = null;
		for (let length = 2; length <= 4096; length *= 2) {
			let one = new ProductGadget(products, Math.ceil(products / (length - 1)));
			(!best || one.proofLength < best.proofLength || one.proofLength === best.proofLength && one.calls < best.calls) && (best = one);
		}
		return best;
	}
	get calls() {
		return Math.ceil(this.products / this.chunk);
	}
	get wireLength() {
		return 2 ** this.calls.toString(2).length;
	}
	get blinds() {
		return 2 * this.chunk;
	}
	get proofLength() {
		return this.blinds + 2 * this.wireLength - 1;
	}
	get verifierLength() {
		return this.blinds + 2;
	}
	forbids(point) {
		return power(point, BigInt(2 * this.wireLength)) === 1n;
	}
	prove(a, b, blinds) {
		let length = this.wireLength, polynomial = new BigUint64Array(2 * length - 1), add = (at, value) => polynomial[at] = (polynomial[at] + value) % MODULUS;
		for (let j = 0; j < this.chunk; j++) {
			let left = this.wire(a, blinds[2 * j], j), right = this.wire(b, blinds[2 * j + 1], j);
			left.forEach((value, k) => add(2 * k, value * right[k]));
			let [evens, odds] = [between(left), between(right)];
			for (let k = 0; k < length - 1; k++) add(2 * k + 1, evens[k] * odds[k]);
		}
		let proof = new BigUint64Array(this.proofLength);
		return proof.set(blinds), proof.set(polynomial, this.blinds), proof;
	}
	query({ a, b, linear }, proof, point) {
		if (this.forbids(point)) throw RangeError("the point of a test must be no root of unity");
		let { chunk, calls, wireLength: length } = this, polynomial = proof.subarray(this.blinds), verifier = new BigUint64Array(this.verifierLength), add = (at, value) => verifier[at] = (verifier[at] + value) % MODULUS;
		add(0, reduced(linear));
		for (let call = 1; call <= calls; call++) add(0, polynomial[2 * call]);
		let wires = weights(length, point);
		for (let j = 0; j < this.blinds; j++) add(1 + j, wires[0] * proof[j]);
		a.forEach((value, k) => {
			let weight = wires[1 + Math.floor(k / chunk)];
			add(1 + k % chunk * 2, weight * value), add(2 + k % chunk * 2, weight * b[k]);
		});
		let [whole, root] = [weights(2 * length, point), rootOfUnity(2 * length)], [last, turned] = [0n, 1n];
		return polynomial.forEach((value, k) => {
			add(2 * chunk + 1, whole[k] * value), last = (last + value * turned) % MODULUS, turned = turned * root % MODULUS;
		}), add(2 * chunk + 1, whole[2 * length - 1] * (difference(0n, root) * last % MODULUS)), verifier;
	}
	accepts(verifier) {
		let found = 0n;
		for (let j = 1; j < verifier.length - 1; j += 2) found += verifier[j] * verifier[j + 1];
		return verifier[0] === 0n && found % MODULUS === verifier.at(-1);
	}
	wire(inputs, blind, first) {
		let values = new BigUint64Array(this.wireLength);
		values[0] = blind;
		for (let call = 0, at = first; call < this.wireLength - 1 && at < inputs.length; call++, at += this.chunk) values[1 + call] = inputs[at];
		return values;
	}
};
function transform(values, root) {
	let n = values.length;
	for (let i = 1, at = 0; i < n; i++) {
		let bit = n >> 1;
		for (; at & bit; bit >>= 1) at ^= bit;
		at |= bit, i < at && ([values[i], values[at]] = [values[at], values[i]]);
	}
	for (let size = 2; size <= n; size *= 2) {
		let step = power(root, BigInt(n / size));
		for (let first = 0; first < n; first += size) {
			let turned = 1n;
			for (let i = first; i < first + size / 2; i++) {
				let even = values[i], odd = values[i + size / 2] * turned % MODULUS;
				values[i] = (even + odd) % MODULUS, values[i + size / 2] = difference(even, odd), turned = turned * step % MODULUS;
			}
		}
	}
}
function between(values) {
	let n = values.length, found = values.slice();
	transform(found, inverse(rootOfUnity(n)));
	let step = rootOfUnity(2 * n), turned = inverse(BigInt(n));
	return found.forEach((value, i) => {
		found[i] = value * turned % MODULUS, turned = turned * step % MODULUS;
	}), transform(found, rootOfUnity(n)), found;
}
function weights(length, point) {
	let root = rootOfUnity(length), whole = difference(power(point, BigInt(length)), 1n) * inverse(BigInt(length)) % MODULUS, turned = 1n;
	return BigUint64Array.from({ length }, () => {
		let weight = turned * whole % MODULUS * inverse(difference(point, turned)) % MODULUS;
		return turned = turned * root % MODULUS, weight;
	});
}
// src/proofs/counted_items.ts
var CountedItems = class {
	items;
	people;
	cap;
	gadget;
	length;
	numbers;
	slack;
	constructor(items, people, cap) {
		this.items = items, this.people = people, this.cap = cap, this.slack = new RangeBits(BigInt(cap)), this.numbers = people * items, this.length = this.numbers + people * this.slack.length, this.gadget = ProductGadget.of(this.length);
	}
	get challenges() {
		return this.length + this.people;
	}
	get linked() {
		return this.numbers;
	}
	vector(own) {
		let x = new BigUint64Array(this.length);
		for (let person = 0; person < this.people; person++) {
			let places = own[person] ?? [];
			if (places.length > this.cap) throw RangeError("nobody may share more than the cap");
			for (let place of places) x[person * this.items + place] = 1n;
			x.set(this.slack.of(BigInt(this.cap - places.length)), this.numbers + person * this.slack.length);
		}
		return x;
	}
	released(x) {
		return summedVectors(x.subarray(0, this.numbers), this.items);
	}
	inputs(x, r, one = 1n) {
		let b = new BigUint64Array(this.length);
		for (let i = 0; i < b.length; i++) b[i] = r[i] * difference(x[i], one) % MODULUS;
		let linear = 0n;
		for (let person = 0; person < this.people; person++) {
			let own = x.subarray(person * this.items, (person + 1) * this.items), slack = this.numbers + person * this.slack.length, whole = total(own) + this.slack.value(x.subarray(slack, slack + this.slack.length));
			linear += r[this.length + person] * (whole - BigInt(this.cap) * one);
		}
		return {
			a: x,
			b,
			linear: reduced(linear)
		};
	}
};
function summedVectors(vectors, length) {
	let sums = vectors.slice(0, length);
	for (let place = length; place < vectors.length; place++) sums[place % length] += vectors[place];
	return sums;
}
// src/proofs/paired_items.ts
var PairedItems = class {
	counted;
	ranked;
	words;
	rows;
	constructor(counted, ranked, words, rows = null) {
		this.counted = counted, this.ranked = ranked, this.words = words, this.rows = rows;
	}
	get linked() {
		return this.counted.linked;
	}
	get gadget() {
		return this.counted.gadget;
	}
	get length() {
		let [first, end] = this.sent;
		return this.counted.length + end - first;
	}
	get challenges() {
		return this.counted.challenges + this.words.ranks + this.words.groups;
	}
	vector(own) {
		let rank = new Map(this.ranked.map((place, at) => [place, at])), words = new BigUint64Array(this.words.words);
		for (let places of own) {
			let mine = places.flatMap((place) => rank.get(place) ?? []);
			this.words.addInto(words, mine.sort((a, b) => a - b));
		}
		return joined(this.counted.vector(own), words.subarray(...this.sent));
	}
	released(x) {
		return x.slice(this.counted.length);
	}
	inputs(x, r, one = 1n) {
		let { counted, words, ranked } = this, bits = counted.inputs(x.subarray(0, counted.length), r.subarray(0, counted.challenges), one), row = this.ofSentRows(r.slice(counted.challenges, counted.challenges + words.ranks)), t = r.subarray(counted.challenges + words.ranks);
		for (let person = 0; person < counted.people; person++) {
			let start = person * counted.items, sums = words.rowSums(BigUint64Array.from(ranked, (place) => x[start + place]), t);
			ranked.forEach((place, i) => {
				bits.b[start + place] = (bits.b[start + place] + row[i] * sums[i]) % MODULUS;
			});
		}
		let found = words.wordSum(this.allWords(x.subarray(counted.length)), row, t);
		return {
			...bits,
			linear: reduced(bits.linear - found)
		};
	}
	get sent() {
		return this.rows === null ? [0, this.words.words] : this.words.wordsOf(this.rows);
	}
	ofSentRows(row) {
		let [first, end] = this.rows ?? [0, row.length];
		return row.fill(0n, 0, first).fill(0n, end);
	}
	allWords(sent) {
		if (this.rows === null) return sent;
		let words = new BigUint64Array(this.words.words);
		return words.set(sent, this.sent[0]), words;
	}
};
// src/proofs/weighted_items.ts
function rootOf(value) {
	let root = BigInt(Math.floor(Math.sqrt(Number(value))));
	for (; root * root > value;) root--;
	for (; (root + 1n) * (root + 1n) <= value;) root++;
	return root;
}
function sharing(own) {
	return own.filter((one) => one.length).length;
}
var WeightedCounts = class {
	items;
	people;
	largest;
	linked = 0;
	gadget;
	length;
	weight;
	slack;
	numbers;
	bits;
	constructor(items, people, largest) {
		this.items = items, this.people = people, this.largest = largest, this.weight = new RangeBits(BigInt(largest)), this.slack = new RangeBits(BigInt(largest) ** 2n / BigInt(people)), this.numbers = people * items, this.bits = this.numbers + people * this.weight.length, this.length = this.bits + this.slack.length, this.gadget = ProductGadget.of(this.length + people);
	}
	get challenges() {
		return this.length + 1;
	}
	weightOf(n, sharing) {
		if (!n) return 0n;
		let most = rootOf(BigInt(this.largest) ** 2n / BigInt(this.people * sharing * n));
		return most < BigInt(this.largest) ? most : BigInt(this.largest);
	}
	vector(own) {
		let x = new BigUint64Array(this.length), left = this.slack.most;
		for (let person = 0; person < this.people; person++) {
			let places = own[person] ?? [], q = this.weightOf(places.length, sharing(own));
			for (let place of places) x[person * this.items + place] = q;
			x.set(this.weight.of(q), this.numbers + person * this.weight.length), left -= q * q * BigInt(places.length);
		}
		return x.set(this.slack.of(left), this.bits), x;
	}
	released(x) {
		return summedVectors(x.subarray(0, this.numbers), this.items);
	}
	inputs(x, r, one = 1n) {
		let u = r[this.length], weights = [], sums = [];
		for (let person = 0; person < this.people; person++) {
			let bits = this.numbers + person * this.weight.length;
			weights.push(this.weight.value(x.subarray(bits, bits + this.weight.length))), sums.push(total(x.subarray(person * this.items, (person + 1) * this.items)) * u % MODULUS);
		}
		let b = new BigUint64Array(this.length);
		for (let i = 0; i < b.length; i++) {
			let right = i < this.numbers ? weights[Math.floor(i / this.items)] : one;
			b[i] = r[i] * difference(x[i], right) % MODULUS;
		}
		let linear = u * (this.slack.value(x.subarray(this.bits)) - this.slack.most * one);
		return {
			a: joined(x, BigUint64Array.from(weights)),
			b: joined(b, BigUint64Array.from(sums)),
			linear: reduced(linear)
		};
	}
}, WeightedPairs = class {
	people;
	largest;
	heaviest;
	words;
	linked = 0;
	gadget;
	length;
	weight;
	slack;
	numbers;
	ends;
	constructor(people, largest, heaviest, words) {
		this.people = people, this.largest = largest, this.heaviest = heaviest, this.words = words, this.weight = new RangeBits(BigInt(heaviest)), this.slack = new RangeBits(BigInt(largest)), this.numbers = people * words.ranks;
		let q = 2 * this.numbers + people * this.weight.length;
		this.ends = {
			z: 2 * this.numbers,
			q,
			slack: q + this.slack.length
		}, this.length = this.ends.slack + words.words, this.gadget = ProductGadget.of(this.ends.slack - this.numbers + people);
	}
	get challenges() {
		return this.ends.slack + 1 + this.words.ranks + this.words.groups;
	}
	weightOf(n, sharing) {
		return n ? BigInt(Math.min(this.heaviest, Math.floor(this.largest / (sharing * n)))) : 0n;
	}
	vector(own) {
		let x = new BigUint64Array(this.length), words = new BigUint64Array(this.words.words), left = this.slack.most;
		for (let person = 0; person < this.people; person++) {
			let ranks = own[person] ?? [], q = this.weightOf(ranks.length, sharing(own));
			for (let rank of ranks) x[person * this.words.ranks + rank] = 1n, x[this.numbers + person * this.words.ranks + rank] = q;
			x.set(this.weight.of(q), this.ends.z + person * this.weight.length), this.words.addInto(words, ranks, q), left -= q * BigInt(ranks.length);
		}
		return x.set(this.slack.of(left), this.ends.q), x.set(words, this.ends.slack), x;
	}
	released(x) {
		return x.slice(this.ends.slack);
	}
	inputs(x, r, one = 1n) {
		let { words, numbers, ends } = this, n = words.ranks, [bits, z] = [x.subarray(0, numbers), x.subarray(numbers, ends.z)], rest = x.subarray(ends.z, ends.slack), e = r.subarray(numbers, ends.z), [u, row] = [r[ends.slack], r.subarray(ends.slack + 1, ends.slack + 1 + n)], t = r.subarray(ends.slack + 1 + n), weights = [], chosen = [], a = joined(bits, rest), s = joined(r.subarray(0, numbers), r.subarray(ends.z, ends.slack)), b = a.map((value, i) => s[i] * difference(value, one) % MODULUS);
		for (let person = 0; person < this.people; person++) {
			let start = person * n, sums = words.rowSums(z.slice(start, start + n), t);
			for (let i = 0; i < n; i++) b[start + i] = (b[start + i] + row[i] * sums[i]) % MODULUS;
			chosen.push(inner(e.subarray(start, start + n), bits.subarray(start, start + n)));
			let at = person * this.weight.length;
			weights.push(this.weight.value(rest.subarray(at, at + this.weight.length)));
		}
		let slack = this.slack.value(x.subarray(ends.q, ends.slack)), linear = u * (total(z) + slack - BigInt(this.largest) * one) - inner(e, z) - words.wordSum(x.subarray(ends.slack), row, t);
		return {
			a: joined(a, BigUint64Array.from(weights)),
			b: joined(b, BigUint64Array.from(chosen)),
			linear: reduced(linear)
		};
	}
}, LARGEST_UPLOAD = 64 << 20;
function circuitOf(claim) {
	return claim.kind === "counts" ? counted(claim) : claim.kind === "pairs" ? new PairedItems(counted(claim.counted), claim.ranked, new PairWords(claim.bounds), claim.rows) : weighted(claim);
}
var BASES = [2642245, 2 ** 32 - 1], COARSEST = 128, FARTHEST = 17;
function weighted({ kind, items, people, few, size }) {
	let { bits, cohort, multiplier } = size, most = 2 ** (bits - 1), longest = multiplier ? Math.min(most, Math.floor(8191 / multiplier)) : most;
	if (kind === "weighted counts") return new WeightedCounts(items.length, people, longest);
	let [base, largest, heaviest] = [
		0,
		0,
		0
	];
	for (base of BASES) if (heaviest = Math.floor(((base - 1) / 2 - FARTHEST) / (cohort * people + FARTHEST * multiplier * few)), largest = Math.min(longest, heaviest * few), heaviest >= COARSEST) break;
	if (heaviest < 1) throw new DeviceError("a sum of pairs must fit its words, but would not; take no part.");
	let words = new PairWords(Array(items.length).fill(base - 1), !0);
	return new WeightedPairs(people, largest, Math.min(heaviest, largest), words);
}
function provenVector(claim, own) {
	let { items } = claim.kind === "pairs" ? claim.counted : claim, shared = new Set(own), circuit = circuitOf(claim);
	if (8 * circuit.length > LARGEST_UPLOAD) throw new DeviceError(`an upload must have at most ${LARGEST_UPLOAD} bytes, but would have ${8 * circuit.length}; take no part.`);
	return circuit.vector([Array.from(items.keys()).filter((place) => shared.has(items[place]))]);
}
function plainVector(claim, vector) {
	return joined(BigUint64Array.of(1n), circuitOf(claim).released(vector));
}
function counted(claim) {
	return new CountedItems(claim.items.length, claim.people, claim.cap);
}
// src/proofs/proven_upload.ts
var SEAL_BYTES = 28;
function checkBytes(circuit, follows) {
	return SEAL_BYTES + 8 * (circuit.gadget.verifierLength + Number(follows));
}
function payloadBytes(circuit, follows) {
	let numbers = circuit.length + circuit.gadget.proofLength;
	return 64 + checkBytes(circuit, follows) + 8 * numbers;
}
async function derived(secret, purpose, content = new Uint8Array()) {
	let key = await crypto.subtle.importKey("raw", concat(secret), {
		name: "HMAC",
		hash: "SHA-256"
	}, !1, ["sign"]);
	return new Uint8Array(await crypto.subtle.sign("HMAC", key, concat(utf8(`murmura proof ${purpose}\0`), content)));
}
var ProvenUpload = class ProvenUpload {
	circuit;
	vector;
	secret;
	seed;
	salt;
	half;
	first;
	commitment;
	constructor(circuit, vector, secret, seed, salt, half, first, commitment) {
		this.circuit = circuit, this.vector = vector, this.secret = secret, this.seed = seed, this.salt = salt, this.half = half, this.first = first, this.commitment = commitment;
	}
	static async of(circuit, vector, secret) {
		let [seed, salt] = [await derived(secret, "seed"), await derived(secret, "salt")], half = packed(less(vector, await expanded(seed, circuit.length))), commitment = await sha256(utf8("murmura commitment\0"), salt, half);
		return new ProvenUpload(circuit, vector, secret, seed, salt, half, concat(seed, commitment), commitment);
	}
	async second(challenge, check) {
		let { gadget } = this.circuit, r = await expanded(challenge, this.circuit.challenges), inputs = this.circuit.inputs(this.vector, r), blinds = await expanded(await derived(this.secret, "blinds", challenge), gadget.blinds), proof = gadget.prove(inputs.a, inputs.b, blinds);
		if (!gadget.accepts(gadget.query(inputs, proof, await this.point()))) throw new DeviceError("what is sent must pass its own check, but does not; nothing more is sent.");
		let own = await expanded(await derived(this.seed, "half", challenge), gadget.proofLength);
		return concat(this.salt, challenge, check, this.half, packed(less(proof, own)));
	}
	async point() {
		let seed = await derived(this.secret, "own check");
		for (let tried = 1;; tried++) {
			let point = (await expanded(seed, tried)).at(-1);
			if (!this.circuit.gadget.forbids(point)) return point;
		}
	}
}, NEAREST = 3;
function termReasons(terms, item, offered, k, disclosed) {
	return [...terms.items[item]].sort(([a], [b]) => terms.gains[b] - terms.gains[a] || a - b).map(([place, weight]) => ({
		kind: "term",
		item: null,
		label: terms.names[place],
		weight,
		gain: terms.gains[place],
		because: weight > 0 && drops(terms, item, place, offered, k),
		local: !disclosed.has(terms.feature[place])
	}));
}
function drops(terms, item, place, offered, k) {
	let left = (one) => terms.scores[one] - (terms.items[one].find(([at]) => at === place)?.[1] ?? 0), own = left(item), before = 0;
	for (let other of offered) {
		let score = left(other);
		(score > own || score === own && other < item) && before++;
	}
	return before >= k;
}
function nearestLikes(alike, likes, disclosed) {
	return alike ? topK(alike, [...likes.keys()], NEAREST, (place) => alike[place] > 0).map((place) => ({
		kind: "similar",
		item: likes[place],
		label: "",
		weight: alike[place],
		gain: 0,
		because: !1,
		local: !disclosed.has(likes[place])
	})) : [];
}
// src/device/training.ts
var here = {
	train: async (request) => train(request),
	rank: async (request) => rank(request),
	commit,
	prove
};
function phaseOf(of, name, info) {
	let found = methodOf(of).phases(info).find((one) => one.name === name);
	if (!found) throw malformed(`${of.method} has no phase '${name.slice(0, 40)}'.`);
	return found;
}
function train(request) {
	let { info, history, round, model, largest, multiplier } = request, method = methodOf(request.of), rng = new Rng(request.secret, round), phase = method.phases(info).find((one) => one.name === request.phase), before = request.state ?? method.clientInit(info, history, new Rng(request.secret)), { state, update } = method.clientStep({
		info,
		phase: phase.name,
		round,
		model
	}, before, history, rng);
	checkConsent(phase, update, history, info.features);
	let shown = method.clientDiscloses(phase, update, history), claim = claimOf(phase, request);
	if (claim) return {
		state,
		update,
		shown,
		claim,
		...proven(claim, update, request.channel)
	};
	checkUpdate(phase.sends, update);
	let of = {
		sends: phase.sends,
		repeats: phase.repeat === null,
		longest: phase.longest,
		cohort: largest,
		multiplier
	}, chain = Chain.of(request.channel, info, of), vector = chain.device(update, rng, round);
	return {
		state,
		update,
		vector,
		claim,
		packed: chain.ring.pack(vector),
		shown,
		rows: chain.rows
	};
}
function claimOf({ claim }, { channel, largest, multiplier }) {
	if (!claim || claim.kind === "counts" || claim.kind === "pairs") return claim;
	let size = {
		bits: channel.bits,
		cohort: largest,
		multiplier
	};
	return channel.channel === "readable" ? null : {
		...claim,
		size
	};
}
function proven(claim, update, channel) {
	let whole = provenVector(claim, update.own), plain = plainVector(claim, whole);
	return {
		vector: channel.channel === "readable" ? plain : whole,
		packed: packed(plain),
		rows: plain.length - 1
	};
}
async function commit({ claim, vector, secret }) {
	return (await ProvenUpload.of(circuitOf(claim), vector, secret)).first;
}
async function prove({ claim, vector, secret, challenge, check }) {
	return (await ProvenUpload.of(circuitOf(claim), vector, secret)).second(challenge, check);
}
function rank(request) {
	let { info, model, history, k, popular } = request, method = methodOf(request.of), left = new Set(request.withoutLikes), rows = rowsWhere(history, (item) => !popular && !left.has(item)), own = new Set(history.item), context = {
		info,
		phase: "ready",
		round: request.round,
		model
	}, rng = new Rng(request.secret, request.round), state = request.state && !popular ? method.clientReady(context, request.state, rows, rng) : method.clientFoldIn(context, rows, rng), terms = method.clientTerms(context, state, new Set(request.withoutTerms)), scores = terms?.scores ?? method.clientScore(context, state, rows), offered = info.listed.filter((item) => !own.has(item)), best = topK(scores, offered, k, () => !0);
	if (popular) return offered.some((item) => scores[item] !== scores[offered[0]]) ? plain(best, scores) : [];
	if (terms) {
		let sent = new Set(request.disclosed.flatMap((item) => Array.from(featuresOf(info.features, item))));
		return best.map((item) => ({
			item,
			score: scores[item],
			reasons: termReasons(terms, item, offered, k, sent)
		}));
	}
	let alike = (item) => method.likeness(context, item, Array.from(rows.item)), reasons = (item) => nearestLikes(alike(item), rows.item, new Set(request.disclosed));
	return best.map((item) => ({
		item,
		score: scores[item],
		reasons: reasons(item)
	}));
}
function plain(best, scores) {
	return best.map((item) => ({
		item,
		score: scores[item],
		reasons: []
	}));
}
function rowsWhere(history, keep) {
	let rows = Array.from(history.item.keys()).filter((row) => keep(history.item[row])), pick = (values) => Float64Array.from(rows, (row) => values[row]), time = history.time && pick(history.time);
	return {
		item: Int32Array.from(rows, (row) => history.item[row]),
		value: pick(history.value),
		consent: pick(history.consent),
		time
	};
}
export { fromBase64Url as A, UnreachableError as C, outcome as D, DeviceError as E, u64 as F, utf8 as I, view as L, text as M, toHex as N, concat as O, u32 as P, RefusedError as S, malformed as T, rowBytes as _, circuitOf as a, sha256Hex as b, packed as c, Rng as d, inPublicPart as f, narrowed as g, modelBytes as h, payloadBytes as i, fromHex as j, equal as k, readFeatures as l, mark as m, phaseOf as n, Ring as o, emptyValues as p, checkBytes as r, methodOf as s, here as t, Purpose as u, spelledDouble as v, forged as w, NoReceiptError as x, sha256 as y };
