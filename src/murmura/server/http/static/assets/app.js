import { A as fromBase64Url, C as UnreachableError, D as outcome, E as DeviceError, F as u64, I as utf8, L as view, M as text$1, N as toHex, O as concat$1, P as u32, S as RefusedError, T as malformed, _ as rowBytes, a as circuitOf, b as sha256Hex, c as packed, d as Rng, f as inPublicPart, g as narrowed, h as modelBytes, i as payloadBytes, j as fromHex, k as equal, l as readFeatures, m as mark, n as phaseOf, o as Ring, p as emptyValues, r as checkBytes, s as methodOf, u as Purpose, v as spelledDouble, w as forged, x as NoReceiptError, y as sha256 } from "./training.js";
// \0rolldown/runtime.js
var __create = Object.create, __defProp = Object.defineProperty, __getOwnPropDesc = Object.getOwnPropertyDescriptor, __getOwnPropNames = Object.getOwnPropertyNames, __getProtoOf = Object.getPrototypeOf, __hasOwnProp = Object.prototype.hasOwnProperty, __commonJSMin = (cb, mod) => () => (mod || (cb((mod = { exports: {} }).exports, mod, mod.exports), cb = null), mod.exports), __copyProps = (to, from, except, desc) => {
	if (from && typeof from == "object" || typeof from == "function") for (var keys = __getOwnPropNames(from), i = 0, n = keys.length, key; i < n; i++) key = keys[i], !__hasOwnProp.call(to, key) && key !== except && __defProp(to, key, {
		get: ((k) => from[k]).bind(null, key),
		enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable
	});
	return to;
}, __toESM = (mod, isNodeMode, target) => (target = mod == null ? {} : __create(__getProtoOf(mod)), __copyProps(isNodeMode || !mod || !mod.__esModule || !__hasOwnProp.call(mod, "default") ? __defProp(target, "default", {
	value: mod,
	enumerable: !0
}) : target, mod)), n$1, t$2, r$2, u$3, i$2, f$3, o$3, e$2, l$2, c$2, a$3, h$3 = Symbol.for("pv"), p$3 = {}, y$3 = [], v$2 = /^m(i|n|o|s|text|space)$/, w$3 = Array.isArray, d$2 = y$3.slice, _$1 = Object.assign;
function g$3(n) {
	n && n.parentNode && n.remove();
}
function k$2(n, t, r) {
	var u, i, f, o = {}, e = arguments.length;
	for (f in t) f == "key" ? u = t[f] : f == "ref" && typeof n != "function" ? i = t[f] : o[f] = t[f];
	return e > 2 && (o.children = e > 3 ? d$2.call(arguments, 2) : r), m$3(n, o, u, i, null);
}
function m$3(r, u, i, f, o) {
	var e = {
		type: r,
		props: u,
		key: i,
		ref: f,
		__k: null,
		__: null,
		__b: 0,
		__e: null,
		__c: null,
		constructor: h$3,
		__v: o || ++t$2,
		__i: -1,
		__u: 0
	};
	return !o && n$1.vnode && n$1.vnode(e), e;
}
function $(n) {
	return n.children;
}
function x$1(n, t) {
	this.props = n, this.context = t, this.__g = 0;
}
function S$1(n, t) {
	if (t == null) return n.__ && S$1(n.__, n.__i + 1);
	for (var r; t < n.__k.length; t++) if ((r = n.__k[t]) && r.__e) return r.__e;
	return typeof n.type != "function" || n.props.__P ? null : S$1(n);
}
function C$1(t) {
	var r, u = t.__v, i = u.__e, f = [], o = [], e = t.__P;
	e && ((r = _$1({ constructor: h$3 }, u)).__v = u.__v + 1, n$1.vnode && n$1.vnode(r), z$1(e, r, u, t.__n, e.namespaceURI, 32 & u.__u ? [i] : null, f, i || S$1(u), 32 & u.__u, o), r.__v = u.__v, r.__.__k[r.__i] = r, E$1(f, r, o), u.__ = u.__e = null, r.__e != i && j$1(r));
}
function j$1(n) {
	if ((n = n.__) && n.__c && !n.props.__P) return n.__e = null, n.__k.some(function(t) {
		return t && (n.__e = t.__e);
	}), j$1(n);
}
function L(t) {
	(8 & t.__g || (t.__g |= 8, u$3.push(t), f$3++)) && i$2 == n$1.debounceRendering || ((i$2 = n$1.debounceRendering) || queueMicrotask)(H);
}
function H() {
	try {
		for (var n, t = 1; u$3.length;) u$3.length > t && u$3.sort(o$3), n = u$3.shift(), t = u$3.length, 8 & n.__g && C$1(n);
	} finally {
		(f$3 = u$3.length) && (i$2 || queueMicrotask)(H);
	}
}
function I(n, t, r, u, i, f, o, e, l, c, a) {
	var s, h, v, w, d, _, g = u.__k || y$3, k = t.length;
	for (l = q(r, t, g, l, k), s = 0; s < k; s++) (v = r.__k[s]) != null && (h = ~v.__i && g[v.__i] || p$3, v.__i = s, _ = z$1(n, v, h, i, f, o, e, l, c, a), w = v.__e, (h.ref != v.ref || 8 & h.__u) && (h.ref && G(h.ref, null, v, h), v.ref && a.push(v.ref, v.__c || w, v)), d ||= w, 4 & v.__u ? (l = A$2(v, l, n, !h.__v), h.__e && (h.__e = null)) : typeof v.type == "function" && _ !== void 0 ? l = _ : w && (l = w.nextSibling), v.__u &= -21);
	return r.__e = d, l;
}
function q(n, t, r, u, i) {
	var f, o, e, l, c, a, s, p, y, v = r.length, d = v, _ = 0, g = 0, k = n.__k = Array(i);
	for (f = 0; f < i; f++) (o = t[f]) != null && typeof o != "boolean" && typeof o != "function" ? (typeof o != "object" || o.constructor === String ? o = k[f] = m$3(null, o) : w$3(o) ? o = k[f] = m$3($, { children: o }) : o.constructor === h$3 && o.__b ? o = k[f] = m$3(o.type, o.props, o.key, o.ref, o.__v) : k[f] = o, l = f + _, o.__ = n, o.__b = n.__b + 1, e = null, ~(c = o.__i = P(o, r, l, d)) && (d--, (e = r[c]) && (e.__u |= 2)), e && e.__v ? (o.__u |= 16, c == l - 1 ? _-- : c == l + 1 ? _++ : c != l && (c > l ? _-- : _++, g = 1)) : (~c || (i > v ? _-- : i < v && _++), typeof o.type != "function" && (o.__u |= 4))) : k[f] = null;
	if (g) {
		for (a = [], s = [], f = 0; f < i; f++) if ((o = k[f]) && 16 & o.__u) {
			for (_ = 0, p = a.length; _ < p;) a[y = _ + p >> 1] < o.__i ? _ = y + 1 : p = y;
			a[_] = o.__i, s[f] = _ + 1;
		}
		for (_ = a.length; f--;) s[f] && (s[f] == _ ? _-- : k[f].__u |= 4);
	}
	if (d) for (f = 0; f < v; f++) !(e = r[f]) || 2 & e.__u || (e.__e == u && (u = S$1(e)), J(e, e));
	return u;
}
function A$2(n, t, r, u) {
	var i, f, o, e;
	if (typeof n.type == "function") {
		if (n.props.__P) return t;
		if (i = n.__k) for (f = 0; f < i.length; f++) i[f] && (i[f].__ = n, t = A$2(i[f], t, r, !1));
		return t;
	}
	for (t && !t.parentNode && (t = S$1(n)) && !t.parentNode && (t = null), o = n.__e, e = t; e && e.nodeType == 8;) e = e.nextSibling;
	for (o != e && (!u && r.moveBefore && o.parentNode ? r.moveBefore(o, t) : r.insertBefore(o, t || null)), t = o; (t &&= t.nextSibling) && t.nodeType == 8 && !t.data.startsWith("$s"););
	return t;
}
function P(n, t, r, u) {
	var i, f = n.key, o = n.type, e = t[r], l = e && !(2 & e.__u);
	if (e === null && f == null || l && f == e.key && o == e.type) return r;
	if (u > +!!l) {
		for (i = r - 1; i >= 0; i--) if ((e = t[i]) && !(2 & e.__u) && f == e.key && o == e.type) return i;
		for (i = r + 1; i < t.length; i++) if ((e = t[i]) && !(2 & e.__u) && f == e.key && o == e.type) return i;
	}
	return -1;
}
function T(n, t, r) {
	r ??= "", t[0] == "-" ? n.setProperty(t, r) : n[t] = r;
}
function N(n, t, r, u, i) {
	var f, o;
	if (t == "style") {
		if (typeof r == "string") n.style.cssText = r;
		else {
			if (typeof u == "string" && (n.style.cssText = u = ""), u) for (t in u) r && t in r || T(n.style, t);
			if (r) for (t in r) u && r[t] == u[t] || T(n.style, t, r[t]);
		}
	} else if (t[0] == "o" && t[1] == "n") typeof r != "function" && (r = null), typeof u != "function" && (u = null), (n.__e ||= {})[t] = r, r && u || (o = a$3[t] || (a$3[t] = V(t)), (n.__a ||= {})[t] = c$2, f = t != (t = t.replace(l$2, "$1")), (t = t.slice(2))[0] < "a" && (t = t.toLowerCase()), r ? n.addEventListener(t, o, f) : n.removeEventListener(t, o, f));
	else {
		if (i == "http://www.w3.org/2000/svg") t = t.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
		else if (t != "width" && t != "height" && t != "href" && t != "list" && t != "form" && t != "tabIndex" && t != "download" && t != "rowSpan" && t != "colSpan" && t != "role" && t != "popover" && t in n) try {
			n[t] = r ?? "";
			return;
		} catch {}
		if (typeof r == "function") return;
		r == null || !1 === r && t[4] != "-" ? n.removeAttribute(t) : n.setAttribute(t, t == "popover" && r == 1 ? "" : r);
	}
}
function V(t) {
	return function(r) {
		var u = this.__e;
		if (u) {
			if (u = u[t], r[e$2] == null) r[e$2] = c$2++;
			else if (r[e$2] < this.__a[t]) return;
			return u(n$1.event ? n$1.event(r) : r);
		}
	};
}
function z$1(t, r, u, i, f, o, e, l, c, a) {
	var s, p, v, d, k, b, m, M, C, j, L, H, q, A, O, P, T, N, V = r.type;
	if (r.constructor !== h$3) return null;
	128 & u.__u && (c = 32 & u.__u, s = u.__c.__z) && (r.__u |= c, p = o = [], s.nodeType == 8 ? l = B$1(s, o) : o.push(s), l = o[0] || l), (s = n$1.__b) && s(r);
	n: if (typeof V == "function") {
		v = e.length;
		try {
			if (M = r.props, C = (s = V.prototype) && s.render, j = (s = V.contextType) && i[s.__c], L = s ? j ? j.props.value : s.__ : i, (d = u.__c) ? (r.__c = d, 2 & d.__g && (d.__g |= 1)) : (C ? r.__c = d = new V(M, L) : (r.__c = d = new x$1(M, L), d.constructor = V, d.render = K), j && j.sub(d), d.state || (d.state = {}), d.__n = i, d.__g |= 8, d.__h = [], d.__k = []), C && (d.__s || (d.__s = d.state), V.getDerivedStateFromProps && (d.__s == d.state && (d.__s = _$1({}, d.__s)), _$1(d.__s, V.getDerivedStateFromProps(M, d.__s)))), k = d.props, b = d.state, d.__v = r, u.__c) {
				if (M !== k && C && !V.getDerivedStateFromProps && d.componentWillReceiveProps && d.componentWillReceiveProps(M, L), r.__v == u.__v && !(8 & d.__g) || !(4 & d.__g) && d.shouldComponentUpdate && !1 === d.shouldComponentUpdate(M, d.__s, L)) {
					r.__v != u.__v && (d.props = M, d.state = d.__s, d.__g &= -9), r.__e = u.__e, r.__k = u.__k, r.__k.some(function(n) {
						n && (n.__ = r);
					}), y$3.push.apply(d.__h, d.__k), d.__k = [], d.__h.length && e.push(d), l = S$1(u);
					break n;
				}
				d.componentWillUpdate && d.componentWillUpdate(M, d.__s, L), C && d.componentDidUpdate && d.__h.push(function() {
					d.componentDidUpdate(k, b, m);
				});
			} else C && !V.getDerivedStateFromProps && d.componentWillMount && d.componentWillMount(), C && d.componentDidMount && d.__h.push(d.componentDidMount);
			d.context = L, d.props = M, d.__P = t, d.__g &= -5, H = n$1.__r, q = C ? 25 : 0;
			do
				d.__g &= -9, H && H(r), s = d.render(d.props, d.state = d.__s, d.context);
			while (8 & d.__g && ++q < 25);
			C && (y$3.push.apply(d.__h, d.__k), d.__k = []), d.state = d.__s, d.getChildContext && (i = _$1({}, i, d.getChildContext())), C && u.__c && d.getSnapshotBeforeUpdate && (m = d.getSnapshotBeforeUpdate(k, b)), A = s && s.type === $ && s.key == null ? s.props.children : s, M.__P && (s = l, f = (t = M.__P).namespaceURI, c = o = null, u.props && u.props.__P != t && (u.__k.some(function(n) {
				n && J(n, n);
			}), u.__k = null), l = u.__k ? S$1(u, 0) : null), l = I(t, w$3(A) ? A : [A], r, u, i, f, o, e, l, c, a), M.__P && (r.__e = null, l = s), r.__u &= -161, p && p.some(g$3), d.__h.length && e.push(d), 1 & d.__g && (d.__g &= -4);
		} catch (t) {
			if (e.length = v, r.__v = null, c || o) {
				if (t && t.then) {
					if (r.__u |= 128 | c, o) {
						for (~(T = o.indexOf(l || void 0)) || (T = o.length); (N = o[T - 1]) && N.nodeType == 8;) T--;
						for (; T < o.length; T++) if (N = o[T]) {
							if (o[T] = null, O) {
								if (N == P) break;
							} else {
								if (N.nodeType != 8) break;
								N.data.startsWith("$s") && (P = B$1(O = N));
							}
						}
					}
					if (!O) {
						for (; l && l.nodeType == 8 && l.nextSibling;) l = l.nextSibling;
						O = l;
					}
					(s = B$1(O = r.__c.__z || (r.__c.__z = O))) ? (r.__e = O, l = s) : r.__e = l, l &&= l.nextSibling;
				} else o && o.some(g$3);
			} else r.__e = u.__e;
			r.__k ||= u.__k || [], t && t.then || D$1(r), n$1.__e(t, r, u);
		}
	} else l = r.__e = F$1(u.__e, r, u, i, f, o, e, c, a, t);
	return (s = n$1.diffed) && s(r), l;
}
function B$1(n, t) {
	if (n && n.nodeType == 8 && n.data.startsWith("$s")) for (var r = 1; n = n.nextSibling;) {
		if (n.nodeType == 8) {
			if (n.data.startsWith("$s")) r++;
			else if (n.data.startsWith("/$s") && !--r) return n;
		}
		t && t.push(n);
	}
}
function D$1(n) {
	n && (n.__c && (n.__c.__g |= 4), n.__k && n.__k.some(D$1));
}
function E$1(t, r, u) {
	for (var i = 0; i < u.length;) G(u[i++], u[i++], u[i++]);
	n$1.__c && n$1.__c(r, t), t.some(function(r) {
		try {
			t = r.__h, r.__h = [], t.some(function(n) {
				n.call(r);
			});
		} catch (t) {
			n$1.__e(t, r.__v);
		}
	});
}
function F$1(t, r, u, i, f, o, e, l, c, a) {
	var s, h, y, _, k, b, m, M, $ = u.props || p$3, x = r.props, C = r.type;
	if (C == "svg" ? f = "http://www.w3.org/2000/svg" : C == "math" ? f = "http://www.w3.org/1998/Math/MathML" : f ||= "http://www.w3.org/1999/xhtml", o) {
		for (s = 0; s < o.length; s++) if ((k = o[s]) && (C ? k.localName == C : k.nodeType == 3)) {
			t = k, o[s] = null;
			break;
		}
	}
	if (!t) {
		if (M = a.ownerDocument || document, !C) return M.createTextNode(x);
		t = M.createElementNS(f, C, x.is ? x : a), l &&= (n$1.__m && n$1.__m(r, o), !1), o = null;
	}
	if (C) {
		if (a = C == "template" && t.content || t, o = C == "textarea" && x.defaultValue != null ? null : o && d$2.call(a.childNodes), !l && o) for ($ = {}, s = 0; s < t.attributes.length; s++) $[(k = t.attributes[s]).name] = k.value;
		for (s in $) k = $[s], s == "dangerouslySetInnerHTML" ? y = k : s == "children" || s in x || s == "value" && "defaultValue" in x || s == "checked" && "defaultChecked" in x || N(t, s, null, k, f);
		for (s in x) k = x[s], s == "children" ? _ = k : s == "dangerouslySetInnerHTML" ? h = k : s == "value" ? b = k : s == "checked" ? m = k : l && typeof k != "function" || $[s] === k || N(t, s, k, $[s], f);
		h ? (l || y && (h.__html == y.__html || h.__html == t.innerHTML) || (t.innerHTML = h.__html), r.__k = []) : (y && (t.textContent = ""), (C == "foreignObject" || f == "http://www.w3.org/1998/Math/MathML" && v$2.test(C)) && (f = "http://www.w3.org/1999/xhtml"), I(a, w$3(_) ? _ : [_], r, u, i, f, o, e, o ? o[0] : u.__k && S$1(u, 0), l, c), o && o.some(g$3)), l && C != "textarea" || (s = "value", C == "progress" && b == null ? t.removeAttribute(s) : b == null || b === t[s] && (C != "progress" || b) || N(t, s, b, $[s], f), s = "checked", m != null && m != t[s] && N(t, s, m, $[s], f));
	} else $ === x || l && t.data == x || (t.data = x);
	return t;
}
function G(t, r, u, i) {
	try {
		typeof t == "function" ? r ? r.__x = t(r) || 1 : (i &&= i.__c || i.__e) && (r = i.__x) && (i.__x = null, typeof r == "function" ? r() : t(null)) : t.current = r;
	} catch (t) {
		n$1.__e(t, u);
	}
}
function J(t, r, u) {
	var i, f, o, e;
	if (n$1.unmount && n$1.unmount(t), !(i = t.ref) || i.current && i.current != t.__e || G(i, null, r, t), i = t.__c) {
		if (i.componentWillUnmount) try {
			i.componentWillUnmount();
		} catch (t) {
			n$1.__e(t, r);
		}
		i.__P = i.__n = null;
	}
	if (i = t.__k) for (e = 0; e < i.length; e++) i[e] && J(i[e], r, typeof t.type != "function" || u && !t.props.__P);
	!u && (i = t.__c) && (i = i.__z) && (f = B$1(i, o = [])) && (i == t.__e && o.some(g$3), g$3(f), g$3(i)), u || g$3(t.__e), t.__e = t.__c = t.__ = null;
}
function K(n, t, r) {
	return this.constructor(n, r);
}
function Q(t, r) {
	var u, i, f, o;
	n$1.__ && n$1.__(t, r), r.nodeType == 9 && (r = r.documentElement), i = (u = t && 32 & t.__u) ? null : r.__k, r.__k = m$3($, { children: [t] }), f = [], o = [], z$1(r, r.__k, i || p$3, p$3, r.namespaceURI, i ? null : r.firstChild ? d$2.call(r.childNodes) : null, f, i ? i.__e : r.firstChild, u, o), E$1(f, r.__k, o), r.__k.props.children = null;
}
n$1 = { __e: function(n, t, r, u) {
	for (var i, o, e; t = t.__;) if ((i = t.__c) && !(1 & i.__g)) {
		i.__g |= 4;
		try {
			if ((e = (o = i.constructor) && o.getDerivedStateFromError) && i.setState(o.getDerivedStateFromError(n)), i.componentDidCatch && (i.componentDidCatch(n, u || {}), e = 1), e && 8 & i.__g) return void (i.__g |= 2);
		} catch (t) {
			n = t;
		}
	}
	throw f$3 = 0, n;
} }, t$2 = 0, r$2 = function(n) {
	return n != null && n.constructor === h$3;
}, x$1.prototype.setState = function(n, t) {
	var r = this.__s;
	r && r != this.state || (r = this.__s = _$1({}, this.state)), typeof n == "function" && (n = n(_$1({}, r), this.props)), n && (_$1(r, n), this.__v && (t && this.__k.push(t), L(this)));
}, x$1.prototype.forceUpdate = function(n) {
	this.__v && (this.__g |= 4, n && this.__h.push(n), L(this));
}, x$1.prototype.render = $, u$3 = [], f$3 = 0, o$3 = function(n, t) {
	return n.__v.__b - t.__v.__b;
}, e$2 = Symbol(), l$2 = /(PointerCapture)$|Capture$/i, c$2 = 0, a$3 = {};
// node_modules/preact/hooks/dist/hooks.mjs
var t$1, r$1, u$2, i$1, o$2 = Object.is, f$2 = 0, c$1 = [], e$1 = [], a$2 = n$1, v$1 = a$2.__b, l$1 = a$2.__r, m$2 = a$2.diffed, h$2 = a$2.__c, s$1 = a$2.unmount, p$2 = a$2.__;
function y$2(n, t) {
	a$2.__h && a$2.__h(r$1, n, f$2 || t), f$2 = 0;
	var u = r$1.__H || (r$1.__H = {
		__: [],
		__h: []
	});
	return n >= u.__.length && u.__.push({}), u.__[n];
}
function A$1(n, u) {
	var i = y$2(t$1++, 3);
	!a$2.__s && E(i.__H, u) && (i.__P = !0, i.__ = n, i.u = u, r$1.__H.__h.push(i));
}
function w$2(n, r) {
	var u = y$2(t$1++, 7);
	return E(u.__H, r) && (u.__ = n(), u.__H = r), u.__;
}
function g$2() {
	var n;
	do {
		for (; n = e$1.shift();) try {
			C(n);
		} catch (t) {
			a$2.__e(t, { __: (n = n.__P) && n.__v });
		}
		for (; n = c$1.shift();) {
			var t = n.__H;
			if (n.__P && t) try {
				t.__h.some(C), t.__h.some(D), t.__h = [];
			} catch (r) {
				t.__h = [], a$2.__e(r, n.__v);
			}
		}
	} while (e$1.length);
}
a$2.__b = function(n) {
	r$1 = null, v$1 && v$1(n);
}, a$2.__ = function(n, t) {
	n && t.__k && t.__k.__m && (n.__m = t.__k.__m), p$2 && p$2(n, t);
}, a$2.__r = function(n) {
	l$1 && l$1(n), t$1 = 0;
	var i = (r$1 = n.__c).__H;
	i && (u$2 == r$1 ? r$1.__h = [] : (i.__h.some(C), i.__h.some(D), t$1 = 0), i.__h = [], i.__.some(function(n) {
		n.__N && (n.__ = n.__N), n.u = n.__N = void 0;
	})), u$2 = r$1;
}, a$2.diffed = function(n) {
	m$2 && m$2(n);
	var t = n.__c;
	t && t.__H && (t.__H.__h.length && B(c$1.push(t)), t.__H.__.some(function(n) {
		n.u && (n.__H = n.u);
	})), u$2 = r$1 = null;
}, a$2.__c = function(n, t) {
	t.some(function(n) {
		try {
			n.__h.some(C), n.__h = n.__h.filter(function(n) {
				return !n.__ || D(n);
			});
		} catch (t) {
			n.__h = [function() {
				throw t;
			}];
		}
	}), h$2 && h$2(n, t);
}, a$2.unmount = function(n) {
	s$1 && s$1(n);
	var t, r, u = n.__c;
	u && u.__H && (u.__H.__.some(function(u) {
		try {
			if (u.__P && u.__c) {
				if (r === void 0) {
					for (r = n.__; r && (!r.__c || !r.__c.__P);) r = r.__;
					r &&= r.__c;
				}
				u.__P = r, B(e$1.push(u));
			} else C(u);
		} catch (n) {
			t = n;
		}
	}), u.__H = void 0, t && a$2.__e(t, u.__v));
};
var k$1 = typeof requestAnimationFrame == "function";
function z(n) {
	var t, r = function() {
		clearTimeout(u), k$1 && cancelAnimationFrame(t), setTimeout(n);
	}, u = setTimeout(r, 35);
	k$1 && (t = requestAnimationFrame(r));
}
function B(n) {
	n != 1 && i$1 == a$2.requestAnimationFrame || ((i$1 = a$2.requestAnimationFrame) || z)(g$2);
}
function C(n) {
	var t = r$1, u = n.__c;
	typeof u == "function" && (n.__c = void 0, u()), r$1 = t;
}
function D(n) {
	var t = r$1;
	n.__c = n.__(), r$1 = t;
}
function E(n, t) {
	return !n || n.length != t.length || t.some(function(t, r) {
		return !o$2(t, n[r]);
	});
}
// node_modules/@preact/signals-core/dist/signals-core.module.js
var i = Symbol.for("preact-signals");
function t() {
	if (v > 1) v--;
	else {
		var i, t = !1;
		for ((function() {
			var i = c;
			for (c = void 0; i !== void 0;) {
				var t = i.S;
				if (t.v === i.v) for (var r = t.t; r !== void 0; r = r.x) r.i === i.i && (r.i = t.i);
				i = i.o;
			}
		})(); h$1 !== void 0;) {
			var r = h$1;
			for (h$1 = void 0, s++; r !== void 0;) {
				var n = r.u;
				if (r.u = void 0, r.f &= -3, !(8 & r.f) && w$1(r)) try {
					r.c();
				} catch (r) {
					t ||= (i = r, !0);
				}
				r = n;
			}
		}
		if (s = 0, v--, t) throw i;
	}
}
function r(i) {
	if (v > 0) return i();
	u$1 = ++e, v++;
	try {
		return i();
	} finally {
		t();
	}
}
var n, o$1 = void 0;
function f$1(i) {
	var t = o$1, r = n;
	o$1 = void 0, n = void 0;
	try {
		return i();
	} finally {
		o$1 = t, n = r;
	}
}
var h$1 = void 0, v = 0, s = 0, e = 0, u$1 = 0, c = void 0, a$1 = 0;
function d$1(i) {
	if (o$1 !== void 0) {
		var t = i.n;
		if (t === void 0 || t.t !== o$1) return t = {
			i: 0,
			S: i,
			p: o$1.s,
			n: void 0,
			t: o$1,
			e: void 0,
			x: void 0,
			r: t
		}, o$1.s !== void 0 && (o$1.s.n = t), o$1.s = t, i.n = t, 32 & o$1.f && i.S(t), t;
		if (t.i === -1) return t.i = 0, t.n !== void 0 && (t.n.p = t.p, t.p !== void 0 && (t.p.n = t.n), t.p = o$1.s, t.n = void 0, o$1.s.n = t, o$1.s = t), t;
	}
}
function l(i, t) {
	this.v = i, this.i = 0, this.n = void 0, this.t = void 0, this.l = 0, this.W = t?.watched, this.Z = t?.unwatched, this.name = t?.name;
}
l.prototype.brand = i, l.prototype.h = function() {
	return !0;
}, l.prototype.S = function(i) {
	var t = this, r = this.t;
	r !== i && i.e === void 0 && (i.x = r, this.t = i, r === void 0 ? f$1(function() {
		var i;
		(i = t.W) == null || i.call(t);
	}) : r.e = i);
}, l.prototype.U = function(i) {
	var t = this;
	if (this.t !== void 0) {
		var r = i.e, n = i.x;
		r !== void 0 && (r.x = n, i.e = void 0), n !== void 0 && (n.e = r, i.x = void 0), i === this.t && (this.t = n, n === void 0 && f$1(function() {
			var i;
			(i = t.Z) == null || i.call(t);
		}));
	}
}, l.prototype.subscribe = function(i) {
	var t = this;
	return x(function() {
		var r = t.value;
		f$1(function() {
			return i(r);
		});
	}, { name: "sub" });
}, l.prototype.valueOf = function() {
	return this.value;
}, l.prototype.toString = function() {
	return this.value + "";
}, l.prototype.toJSON = function() {
	return this.value;
}, l.prototype.peek = function() {
	var i = this;
	return f$1(function() {
		return i.value;
	});
}, Object.defineProperty(l.prototype, "value", {
	get: function() {
		var i = d$1(this);
		return i !== void 0 && (i.i = this.i), this.v;
	},
	set: function(i) {
		if (i !== this.v) {
			if (s > 100) throw Error("Cycle detected");
			(function(i) {
				v !== 0 && s === 0 && i.l !== u$1 && (i.l = u$1, c = {
					S: i,
					v: i.v,
					i: i.i,
					o: c
				});
			})(this), this.v = i, this.i++, a$1++, v++;
			try {
				for (var r = this.t; r !== void 0; r = r.x) r.t.N();
			} finally {
				t();
			}
		}
	}
});
function y$1(i, t) {
	return new l(i, t);
}
function w$1(i) {
	for (var t = i.s; t !== void 0; t = t.n) if (t.S.i !== t.i || !t.S.h() || t.S.i !== t.i) return !0;
	return !1;
}
function b$1(i) {
	for (var t = i.s; t !== void 0; t = t.n) {
		var r = t.S.n;
		if (r !== void 0 && (t.r = r), t.S.n = t, t.i = -1, t.n === void 0) {
			i.s = t;
			break;
		}
	}
}
function _(i) {
	for (var t = i.s, r = void 0; t !== void 0;) {
		var n = t.p;
		t.i === -1 ? (t.S.U(t), n !== void 0 && (n.n = t.n), t.n !== void 0 && (t.n.p = n)) : r = t, t.S.n = t.r, t.r !== void 0 && (t.r = void 0), t = n;
	}
	i.s = r;
}
function j(i, t) {
	l.call(this, void 0, t), this.x = i, this.s = void 0, this.g = a$1 - 1, this.f = 4;
}
j.prototype = new l(), j.prototype.h = function() {
	if (this.f &= -3, 1 & this.f) return !1;
	if ((36 & this.f) == 32 || (this.f &= -5, this.g === a$1)) return !0;
	if (this.g = a$1, this.f |= 1, this.i > 0 && !w$1(this)) return this.f &= -2, !0;
	var i = o$1;
	try {
		b$1(this), o$1 = this;
		var t = this.x();
		(16 & this.f || this.v !== t || this.i === 0) && (this.v = t, this.f &= -17, this.i++);
	} catch (i) {
		this.v = i, this.f |= 16, this.i++;
	}
	return o$1 = i, _(this), this.f &= -2, !0;
}, j.prototype.S = function(i) {
	if (this.t === void 0) {
		this.f |= 36;
		for (var t = this.s; t !== void 0; t = t.n) t.S.S(t);
	}
	l.prototype.S.call(this, i);
}, j.prototype.U = function(i) {
	if (this.t !== void 0 && (l.prototype.U.call(this, i), this.t === void 0)) {
		this.f &= -33;
		for (var t = this.s; t !== void 0; t = t.n) t.S.U(t);
	}
}, j.prototype.N = function() {
	if (!(2 & this.f)) {
		this.f |= 6;
		for (var i = this.t; i !== void 0; i = i.x) i.t.N();
	}
}, Object.defineProperty(j.prototype, "value", { get: function() {
	if (1 & this.f) throw Error("Cycle detected");
	var i = d$1(this);
	if (this.h(), i !== void 0 && (i.i = this.i), 16 & this.f) throw this.v;
	return this.v;
} });
function O(i, t) {
	return new j(i, t);
}
function p$1(i) {
	var r = i.j;
	if (i.j = void 0, typeof r == "function") {
		v++;
		var n = o$1;
		o$1 = void 0;
		try {
			r();
		} catch (t) {
			throw i.f &= -2, i.f |= 8, g$1(i), t;
		} finally {
			o$1 = n, t();
		}
	}
}
function g$1(i) {
	for (var t = i.s; t !== void 0; t = t.n) t.S.U(t);
	i.x = void 0, i.s = void 0, p$1(i);
}
function S(i) {
	if (o$1 !== this) throw Error("Out-of-order effect");
	_(this), o$1 = i, this.f &= -2;
	try {
		8 & this.f && g$1(this);
	} finally {
		t();
	}
}
function m$1(i, t) {
	this.x = i, this.j = void 0, this.s = void 0, this.u = void 0, this.f = 32, this.name = t?.name, n && n.push(this);
}
m$1.prototype.c = function() {
	var i = this.S();
	try {
		if (8 & this.f || this.x === void 0) return;
		var t = this.x();
		typeof t == "function" && (this.j = t);
	} finally {
		i();
	}
}, m$1.prototype.S = function() {
	if (1 & this.f) throw Error("Cycle detected");
	this.f |= 1, this.f &= -9, p$1(this), b$1(this), v++;
	var i = o$1;
	return o$1 = this, S.bind(this, i);
}, m$1.prototype.N = function() {
	2 & this.f || (this.f |= 2, this.u = h$1, h$1 = this);
}, m$1.prototype.d = function() {
	this.f |= 8, 1 & this.f || g$1(this);
}, m$1.prototype.dispose = function() {
	this.d();
};
function x(i, t) {
	var r = new m$1(i, t);
	try {
		r.c();
	} catch (i) {
		throw r.d(), i;
	}
	var n = r.d.bind(r);
	return n[Symbol.dispose] = n, n;
}
// node_modules/@preact/signals/dist/signals.module.js
var h, p, m = typeof window < "u" && !!window.__PREACT_SIGNALS_DEVTOOLS__, g = [];
x(function() {
	h = this.N;
})();
function b(i, n) {
	n$1[i] = n.bind(null, n$1[i] || function() {});
}
function y(i) {
	if (p) {
		var n = p;
		p = void 0, n();
	}
	p = i && i.S();
}
function w(i) {
	var n = this, r = i.data, t = useSignal(r);
	t.name = "ReactiveDom", t.value = r;
	var e = w$2(function() {
		for (var i = n, r = n.__v; r = r.__;) if (r.__c) {
			r.__c.__$f |= 4;
			break;
		}
		var o = O(function() {
			var i = t.value.value;
			return i === 0 ? 0 : !0 === i ? "" : i || "";
		}), e = O(function() {
			return !Array.isArray(o.value) && !r$2(o.value);
		}), u = x(function() {
			if (this.N = M, e.value) {
				var n = o.value;
				i.__v && i.__v.__e && i.__v.__e.nodeType === 3 && (i.__v.__e.data = n);
			}
		}), c = n.__$u.d;
		return n.__$u.d = function() {
			u(), c.call(this);
		}, [e, o];
	}, []), u = e[0], c = e[1];
	return u.value ? c.peek() : c.value;
}
w.displayName = "ReactiveTextNode", Object.defineProperties(l.prototype, {
	constructor: {
		configurable: !0,
		value: k$2($, null).constructor
	},
	type: {
		configurable: !0,
		value: w
	},
	props: {
		configurable: !0,
		get: function() {
			var i = this;
			return { data: { get value() {
				return i.value;
			} } };
		}
	},
	__b: {
		configurable: !0,
		value: 1
	}
}), b("__b", function(i, n) {
	if (y(), typeof n.type == "string") {
		var r, t = n.props;
		for (var f in t) if (f !== "children") {
			var o = t[f];
			o instanceof l && (r || (n.__np = r = {}), r[f] = o, t[f] = o.peek());
		}
	}
	i(n);
}), b("__r", function(i, r) {
	if (i(r), r.type !== $) {
		y();
		var t, f = r.__c;
		f && (f.__$f &= -2, (t = f.__$u) === void 0 && (f.__$u = t = function(i, n) {
			var r;
			return x(function() {
				r = this;
			}, { name: n }), r.c = i, r;
		}(function(i) {
			return function() {
				var n;
				m && ((n = this.y) == null || n.call(this)), i.__$f |= 1, i.setState({});
			};
		}(f), typeof r.type == "function" ? r.type.displayName || r.type.name : ""))), y(t);
	}
}), b("__e", function(i, n, r, t) {
	y(), i(n, r, t);
}), b("diffed", function(i, n) {
	y();
	var r;
	if (typeof n.type == "string" && (r = n.__e)) {
		var t = n.__np, f = n.props, o = r.U;
		if (o) for (var e in o) {
			var u = o[e];
			u === void 0 || t && e in t || (u.d(), o[e] = void 0);
		}
		if (t) for (var a in o || (o = {}, r.U = o), t) {
			var c = o[a], v = t[a];
			c === void 0 ? (c = k(r, a, v, f), o[a] = c) : c.o(v, f);
		}
	}
	i(n);
});
function k(i, n, r, t) {
	var f = n in i && i.ownerSVGElement === void 0, o = y$1(r);
	return {
		o: function(i, n) {
			o.value = i, t = n;
		},
		d: x(function() {
			this.N = M;
			var r = o.value.value;
			t[n] !== r && (t[n] = r, f ? i[n] = r : r != null && (!1 !== r || n[4] === "-") ? i.setAttribute(n, r) : i.removeAttribute(n));
		})
	};
}
b("unmount", function(i, n) {
	if (typeof n.type == "string") {
		var r = n.__e;
		if (r) {
			var t = r.U;
			if (t) for (var f in r.U = void 0, t) {
				var o = t[f];
				o && o.d();
			}
		}
		var e = n.__np;
		if (e) {
			var u = n.props;
			for (var a in e) u[a] = e[a];
		}
		n.__np = void 0;
	} else {
		var c = n.__c;
		if (c) {
			c.__$f |= 8;
			var v = c.__$u;
			v && (c.__$u = void 0, v.d());
		}
	}
	i(n);
}), b("__h", function(i, n, r, t) {
	t < 3 && (n.__$f |= 2), i(n, r, t);
}), x$1.prototype.shouldComponentUpdate = function(i, n) {
	if (this.__R) return !0;
	var r = this.__$u, t = r && r.s !== void 0;
	for (var f in n) return !0;
	if (this.__f || typeof this.u == "boolean" && !0 === this.u) {
		var o = 2 & this.__$f;
		if (!(t || o || 4 & this.__$f) || 1 & this.__$f) return !0;
	} else if (!(t || 4 & this.__$f) || 3 & this.__$f) return !0;
	for (var e in i) if (e !== "__source" && i[e] !== this.props[e]) return !0;
	for (var u in this.props) if (!(u in i)) return !0;
	return !1;
};
function useSignal(i, n) {
	return w$2(function() {
		return y$1(i, n);
	}, []);
}
var A = function(i) {
	queueMicrotask(function() {
		queueMicrotask(i);
	});
};
function F() {
	r(function() {
		for (var i; i = g.shift();) h.call(i);
	});
}
function M() {
	g.push(this) === 1 && (n$1.requestAnimationFrame || A)(F);
}
var MOST_DIMENSIONS = 32, MOST_VALUES = 2 ** 48, HEADER$1 = 8, KINDS = {
	"<f2": {
		bytes: 2,
		read: (content) => new Uint16Array(content)
	},
	"<f4": {
		bytes: 4,
		read: (content) => new Float32Array(content)
	},
	"<f8": {
		bytes: 8,
		read: (content) => new Float64Array(content)
	},
	"<u4": {
		bytes: 4,
		read: (content) => new Uint32Array(content)
	},
	"<i4": {
		bytes: 4,
		read: (content) => new Int32Array(content)
	},
	"<i8": {
		bytes: 8,
		read: (content) => new BigInt64Array(content)
	},
	"<u8": {
		bytes: 8,
		read: (content) => new BigUint64Array(content)
	},
	"|u1": {
		bytes: 1,
		read: (content) => new Uint8Array(content)
	},
	"|b1": {
		bytes: 1,
		read: (content) => new Uint8Array(content)
	}
};
function unpackArrays(content) {
	if (content.length < HEADER$1) throw malformed("a message of arrays must have a header, but has none.");
	if (text$1(content.subarray(0, 2)) !== "ma") throw malformed("a message of arrays must begin with 'ma'.");
	checkVersion(content[2]);
	let at = HEADER$1 + view(content).getUint32(4, !0), index = readIndex(content.subarray(HEADER$1, at)), sizes = index.map(([, type, shape]) => product(shape) * KINDS[type].bytes), needed = sizes.reduce((sum, size) => sum + size, at);
	if (content.length !== needed) throw malformed(`a message of arrays must be ${needed} bytes long, but has ${content.length}.`);
	let arrays = {};
	return index.forEach(([name, type, shape], n) => {
		let own = concat$1(content.subarray(at, at += sizes[n]));
		arrays[name] = {
			type,
			shape,
			values: KINDS[type].read(own.buffer)
		};
	}), arrays;
}
function readIndex(bytes) {
	try {
		let read = JSON.parse(text$1(bytes)), whole = (n) => Number.isInteger(n) && n >= 0;
		if (Array.isArray(read) && read.every((one) => Array.isArray(one) && one.length === 3 && typeof one[0] == "string" && typeof one[1] == "string" && Object.hasOwn(KINDS, one[1]) && Array.isArray(one[2]) && one[2].length <= MOST_DIMENSIONS && one[2].every(whole) && product(one[2].map((n) => Math.max(n, 1))) < MOST_VALUES)) return read;
	} catch {}
	throw malformed("a message of arrays must list its names, types and shapes, but does not.");
}
function unpackPair(content) {
	let length = content.length < 4 ? 0 : view(content).getUint32(0, !0);
	if (content.length < 4 + length) throw malformed("two messages in one must be as long as they claim, but are not.");
	return [content.subarray(4, 4 + length), content.subarray(4 + length)];
}
function checkVersion(version) {
	if (version !== 3) throw new RefusedError("version", `the protocol's version must be 3, but it is ${String(version).slice(0, 20)}; load the page anew, or have the older side updated.`);
}
function product(shape) {
	return shape.reduce((all, n) => all * n, 1);
}
// src/protocol/addresses.ts
var PLAIN = /^https?:\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(\/[A-Za-z0-9._~%/-]*)?$/;
function checkPlain(url) {
	if (!PLAIN.test(url)) throw malformed("the address of an aggregator must be scheme://host:port/path in plain characters, but is not.");
}
function hostOf(url) {
	try {
		return new URL(url).hostname.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.$/, "");
	} catch {
		throw malformed("an address must be a URL, but is not.");
	}
}
function isLoopback(host) {
	return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
function reachesItself(host) {
	return [
		"0.0.0.0",
		"::",
		"::ffff:0:0"
	].includes(host) || isLoopback(host) || host.endsWith(".localhost") || /^::ffff:7f[0-9a-f]{2}:/.test(host);
}
function checkElsewhere(url, named) {
	let near = reachesItself(hostOf(url)) ? void 0 : named.find((one) => reachesItself(hostOf(one)));
	if (near !== void 0) throw forged(`the aggregators of a federation elsewhere must be elsewhere, but one is at ${near}; take no part.`);
}
function checkAddress(url) {
	let near = isLoopback(hostOf(url));
	if (!url.startsWith("https://") && !(near && url.startsWith("http://"))) throw malformed(`${url.slice(0, 100)} must be an https address, as everyone on the way reads plain HTTP.`);
}
// src/protocol/transport.ts
var REPLY_BYTES = 1 << 20, DOWNLOAD_BYTES = 64 << 20, SECONDS = 30, SLOWEST = 8192;
async function ask(send, request) {
	let reply = await send({
		...request,
		headers: {
			"murmura-protocol": "3",
			...request.headers
		}
	});
	if (reply.status >= 400) throw RefusedError.read(reply.status, reply.body);
	return reply;
}
function bearer(token) {
	return { authorization: `Bearer ${token}` };
}
function jsonObject(reply) {
	try {
		let read = JSON.parse(text$1(reply.body));
		if (typeof read == "object" && read && !Array.isArray(read)) return read;
	} catch {}
	throw malformed("a reply must be a JSON object, but it is something else.");
}
var fetchTransport = async (request) => {
	let { url, largest = REPLY_BYTES } = request;
	checkAddress(url);
	let limit = SECONDS + ((request.body?.length ?? 0) + largest) / SLOWEST;
	try {
		let reply = await fetch(url, {
			method: request.method,
			body: request.body ?? null,
			headers: request.headers ?? {},
			redirect: "error",
			credentials: "omit",
			cache: "no-store",
			referrerPolicy: "no-referrer",
			signal: AbortSignal.any([AbortSignal.timeout(Math.ceil(1e3 * limit)), ...request.signal ? [request.signal] : []])
		});
		if ((reply.headers.get("content-encoding") ?? "identity") !== "identity") throw malformed(`the reply of ${url} must not be compressed, but is.`);
		let body = await read(reply, url, largest);
		return {
			status: reply.status,
			body,
			etag: reply.headers.get("etag") ?? ""
		};
	} catch (error) {
		throw error instanceof RefusedError ? error : new UnreachableError(`${url} must answer, but does not; check the address and that it runs.`);
	}
};
async function read(reply, url, largest) {
	let parts = [], reader = reply.body?.getReader();
	for (let length = 0; reader;) {
		let { done, value } = await reader.read();
		if (done) break;
		if (length += value.length, length > largest) throw await reader.cancel(), oversize(url, largest);
		parts.push(value);
	}
	return concat$1(...parts);
}
function oversize(url, largest) {
	return new RefusedError("oversize", `the reply of ${url} must have at most ${largest} bytes, but has more.`);
}
var PKCS8 = fromHex("302e020100300506032b657004220420");
async function signingKey(seed) {
	let key = await crypto.subtle.importKey("pkcs8", concat$1(PKCS8, seed), "Ed25519", !0, ["sign"]), shown = fromBase64Url((await crypto.subtle.exportKey("jwk", key)).x ?? "");
	if (shown?.length !== 32) throw TypeError("an Ed25519 key has 32 bytes");
	return {
		public: shown,
		sign: async (purpose, ...content) => new Uint8Array(await crypto.subtle.sign("Ed25519", key, purposed(purpose, ...content)))
	};
}
async function checkSignature(by, purpose, content, signature) {
	if (!await fits(by, purpose, content, signature)) throw forged(`the ${purpose}'s signature must be of the right machine, but is not.`);
}
async function fits(by, purpose, content, signature) {
	if (signature.length !== 64) return !1;
	try {
		let key = await crypto.subtle.importKey("raw", fromHex(by), "Ed25519", !1, ["verify"]);
		return await crypto.subtle.verify("Ed25519", key, concat$1(signature), purposed(purpose, content));
	} catch {
		return !1;
	}
}
function purposed(purpose, ...content) {
	return concat$1(utf8(`murmura ${purpose}\0`), ...content);
}
var LINK = /^murmura(?:\+(https?))?:\/\/([^#\s]+)#2\.([\w-]{43})(?:\.([\w-]+))?$/, LONGEST_LINK = 2e3;
async function ownAdmission(content) {
	let key = await signingKey(content.subarray(0, 32));
	return {
		content: concat$1(content),
		key,
		shown: concat$1(key.public, content.subarray(32))
	};
}
async function checkAdmission(shown, terms, now) {
	if (shown.length !== 104) throw malformed("an admission must have 104 bytes.");
	let expires = Number(view(shown).getBigUint64(32, !0)), content = concat$1(fromHex(terms.fields.federation), shown.subarray(0, 32), u64(expires));
	if (await checkSignature(terms.fields.admitter, "admission", content, shown.subarray(40)), expires && now > expires) throw forged("this invitation must still be valid, but has expired; ask for another.");
}
function joinProof(admission, federation, token) {
	return admission.key.sign("join", fromHex(federation), utf8(token));
}
function readInvitation(link) {
	let found = LINK.exec(link.trim().slice(0, LONGEST_LINK)), wrong = malformed("an invitation must be a link murmura://host#2.… as `murmura invite create` prints it, but is not; copy it whole.");
	if (!found) throw wrong;
	let [, scheme, place, pinned, own] = found, terms = fromBase64Url(pinned), admission = own === void 0 ? null : fromBase64Url(own), fits = admission === null ? own === void 0 : admission.length === 104;
	if (terms?.length !== 32 || !fits) throw wrong;
	return {
		url: `${scheme ?? (isLoopback(hostOf(`https://${place}`)) ? "http" : "https")}://${place}`.replace(/\/+$/, ""),
		terms,
		admission
	};
}
function checkInvited(invitation) {
	checkAddress(invitation.url);
}
// src/channel/settings.ts
function channelSettings(plain) {
	let one = plain, whole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most, above = (value) => typeof value == "number" && value > 0 && Number.isFinite(value);
	if (!(["secure-sum", "readable"].includes(one.channel) && [
		"dense",
		"half",
		"core"
	].includes(one.block) && [
		"exact",
		"float16",
		"int8"
	].includes(one.download) && (one.ring === 24 || one.ring === 32) && whole(one.bits, 2, 24) && whole(one.core, 1, 2 ** 32) && whole(one.minimum_cohort, 1, 2 ** 32) && above(one.clip) && (one.coordinate === null || above(one.coordinate)))) throw malformed("the channel of the terms must be one this page knows, but is not; take no part.");
	return one;
}
// src/protocol/canonical.ts
var DEEPEST$1 = 8, NUMBER = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y, STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y, WORDS = [
	["true", !0],
	["false", !1],
	["null", null]
], Parser = class {
	source;
	at = 0;
	doubles = new Set();
	constructor(source) {
		this.source = source;
	}
	whole() {
		let value = this.value("", 0);
		if (this.at !== this.source.length) throw SyntaxError();
		return value;
	}
	value(path, depth) {
		if (depth > DEEPEST$1) throw SyntaxError();
		let sign = this.source[this.at];
		if (sign === "{") return this.object(path, depth + 1);
		if (sign === "[") return this.list(path, depth + 1);
		if (sign === "\"") return this.string();
		for (let [word, value] of WORDS) if (this.source.startsWith(word, this.at)) return this.at += word.length, value;
		return this.number(path);
	}
	object(path, depth) {
		let read = Object.create(null), before = null;
		return this.members("{", "}", () => {
			let name = this.string();
			if (before !== null && !ascends(before, name)) throw SyntaxError();
			before = name, this.expect(":"), read[name] = this.value(`${path}.${name}`, depth);
		}), read;
	}
	list(path, depth) {
		let read = [];
		return this.members("[", "]", () => read.push(this.value(`${path}[]`, depth))), read;
	}
	members(open, close, one) {
		if (this.expect(open), this.source[this.at] === close) this.at++;
		else {
			do
				one();
			while (this.source[this.at] === "," && ++this.at);
			this.expect(close);
		}
	}
	string() {
		let raw = this.token(STRING), read = JSON.parse(raw);
		if (spelledString(read) !== raw) throw SyntaxError();
		return read;
	}
	number(path) {
		let raw = this.token(NUMBER), read = Number(raw), whole = /^-?\d+$/.test(raw);
		if (whole ? raw === "-0" : spelledDouble(read) !== raw) throw SyntaxError();
		return whole || this.doubles.add(path), read;
	}
	token(shape) {
		shape.lastIndex = this.at;
		let found = shape.exec(this.source)?.[0];
		if (!found) throw SyntaxError();
		return this.at += found.length, found;
	}
	expect(sign) {
		if (this.source[this.at++] !== sign) throw SyntaxError();
	}
};
function readCanonical(content, shape, what) {
	let value, parser = (() => {
		try {
			return new Parser(text$1(content));
		} catch {
			throw malformed(`${what} must be a JSON object, but is something else.`);
		}
	})();
	try {
		value = parser.whole();
	} catch {
		throw malformed(`${what} must be JSON in canonical form, but is not.`);
	}
	if (typeof value != "object" || !value || Array.isArray(value)) throw malformed(`${what} must be a JSON object, but is something else.`);
	checkVersion(value.protocol);
	let wrong = shape(value, "", parser.doubles);
	if (wrong !== null) throw new RefusedError("malformed", `${what} must be what docs/wire.md says, but ${wrong}.`);
	return value;
}
function ascends(one, other) {
	let a = Array.from(one), b = Array.from(other);
	for (let n = 0; n < Math.min(a.length, b.length); n++) {
		let difference = a[n].codePointAt(0) - b[n].codePointAt(0);
		if (difference) return difference < 0;
	}
	return a.length < b.length;
}
function spelledString(value) {
	return JSON.stringify(value).replace(/[\u0080-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
var LEAST = 1e-12;
function deltaOf(mu, epsilon) {
	if (mu === 0) return 0;
	let above = logNormal(mu / 2 - epsilon / mu), below = logNormal(-mu / 2 - epsilon / mu);
	return Math.exp(above) - Math.exp(epsilon + below);
}
function epsilonOf(mu, delta) {
	if (mu === Infinity) return Infinity;
	if (mu === 0 || deltaOf(mu, 0) <= delta) return 0;
	let low = 0, high = 1;
	for (; deltaOf(mu, high) > delta;) high *= 2;
	for (let step = 0; step < 200 && high - low > 1e-13 * high; step++) {
		let middle = (low + high) / 2;
		deltaOf(mu, middle) > delta ? low = middle : high = middle;
	}
	return high;
}
function composed(releases) {
	let squares = 0;
	for (let [multiplier, times] of releases) {
		if (times && multiplier / Math.sqrt(times) < LEAST) return Infinity;
		times && (squares += times / multiplier ** 2);
	}
	return Math.sqrt(squares);
}
function logNormal(x) {
	let z = Math.abs(x) / Math.SQRT2;
	if (z < 2) return Math.log(x < 0 ? (1 - erf(z)) / 2 : (1 + erf(z)) / 2);
	let tail = Math.log(scaledErfc(z) / 2) - z * z;
	return x < 0 ? tail : Math.log1p(-Math.exp(tail));
}
function erf(z) {
	let term = z, sum = z;
	for (let n = 1; term > 1e-18 * sum; n++) term *= 2 * z * z / (2 * n + 1), sum += term;
	return 2 / Math.sqrt(Math.PI) * Math.exp(-z * z) * sum;
}
function scaledErfc(z) {
	let inner = z;
	for (let n = 200; n > 0; n--) inner = z + n / 2 / inner;
	return 1 / (inner * Math.sqrt(Math.PI));
}
// src/protocol/noise.ts
function isNoisy(noise) {
	return Object.keys(noise.multipliers).length > 0;
}
function checkNoise(noise) {
	let { epsilon, delta, multipliers, answers, unit, against } = noise;
	if (!isNoisy(noise)) {
		if (epsilon || delta || unit || against || Object.keys(answers).length) throw forged("terms without noise must claim no epsilon, but do.");
		return;
	}
	let phases = Object.keys(multipliers).sort();
	if (phases.join(" ") !== Object.keys(answers).sort().join(" ") || !(delta > 0 && delta < 1)) throw forged("noise must have a multiplier and a number of answers for each phase, and a delta.");
	if (unit !== "one person with everything she shares: her upload against one that says nothing" || against !== "the coordinator, all other devices together and one curious aggregator") throw forged("noise must be stated for the unit and against whom this page knows it to hold.");
	let found = epsilonOf(composed(phases.map((name) => [multipliers[name], answers[name]])), delta);
	if (found > epsilon * 1.0000001) throw forged(`the noise of the terms must bound what is revealed to epsilon ${epsilon}, but bounds it to ${found.toPrecision(3)}; take no part.`);
}
// src/protocol/fields.ts
var said$9 = (path) => `${path.slice(1) || "it"} has the wrong type`, plain$1 = (fits) => (value, path) => fits(value) ? null : said$9(path), string = plain$1((value) => typeof value == "string"), boolean = plain$1((value) => typeof value == "boolean"), settings = plain$1(isObject);
function matching(shape) {
	return plain$1((value) => typeof value == "string" && shape.test(value));
}
function whole(least, end) {
	return (value, path, doubles) => typeof value == "number" && Number.isInteger(value) && value >= least && value < end && !doubles.has(path) ? null : said$9(path);
}
function number$1(fits) {
	return plain$1((value) => typeof value == "number" && fits(value));
}
function oneOf(...names) {
	return plain$1((value) => typeof value == "string" && names.includes(value));
}
function nullOr(check) {
	return (value, path, doubles) => value === null ? null : check(value, path, doubles);
}
function list(check, most) {
	return (value, path, doubles) => !Array.isArray(value) || value.length > most ? said$9(path) : first(value.map((one) => check(one, `${path}[]`, doubles)));
}
function mapping(check) {
	return (value, path, doubles) => isObject(value) ? first(Object.keys(value).map((name) => check(value[name], `${path}.${name}`, doubles))) : said$9(path);
}
function record(fields) {
	return recordWithout("", fields);
}
function recordWithout(unspelled, fields) {
	return (value, path, doubles) => {
		if (!isObject(value)) return said$9(path);
		let there = Object.entries(fields).filter(([name]) => name in value || name !== unspelled), names = there.map(([name]) => name).sort();
		return Object.keys(value).sort().join(" ") === names.join(" ") ? first(there.map(([name, check]) => check(value[name], `${path}.${name}`, doubles))) : `${path.slice(1) || "it"} has other fields`;
	};
}
function first(found) {
	return found.find((one) => one !== null) ?? null;
}
function isObject(value) {
	return typeof value == "object" && !!value && !Array.isArray(value);
}
// src/protocol/signed_records.ts
var aggregatorAddress = record({
	url: string,
	key: matching(/^[0-9a-f]{64}$/),
	sealing_key: matching(/^[0-9a-f]{64}$/),
	proof_key: matching(/^[0-9a-f]{64}$/)
}), catalogueRule = record({
	rule: oneOf("fixed"),
	description: matching(/^[0-9a-f]{64}$/),
	bytes: whole(0, 2 ** 32),
	features_bytes: whole(0, 2 ** 32)
}), lostLog = record({
	entries: whole(0, 2 ** 32),
	root: matching(/^[0-9a-f]{64}$/),
	serial: whole(0, 2 ** 32)
}), noiseTerms = record({
	epsilon: number$1((value) => value >= 0 && value < 2 ** 40),
	delta: number$1((value) => value >= 0 && value < 2 ** 40),
	multipliers: mapping(number$1((value) => value >= 0 && value < 2 ** 40)),
	answers: mapping(whole(1, 2 ** 32)),
	unit: string,
	against: string
}), releaseWindows = record({
	start: number$1((value) => value >= 0 && value < 2 ** 40),
	seconds: number$1((value) => value >= 0 && value < 2 ** 40)
}), federationTermsFields = recordWithout("lost", {
	protocol: whole(3, 4),
	federation: matching(/^([0-9a-f]{2})*$/),
	coordinator: matching(/^[0-9a-f]{64}$/),
	seed_aggregator: nullOr(aggregatorAddress),
	vector_aggregator: nullOr(aggregatorAddress),
	admission: oneOf("invited", "open"),
	admitter: matching(/^([0-9a-f]{2})*$/),
	method: string,
	settings,
	schedule: settings,
	catalogue: catalogueRule,
	channel: settings,
	windows: releaseWindows,
	noise: noiseTerms,
	lost: lostLog
}), download = record({
	hash: matching(/^[0-9a-f]{64}$/),
	bytes: whole(0, 2 ** 32),
	base: matching(/^([0-9a-f]{2})*$/)
}), roundPrivacy = record({
	noise: number$1((value) => value >= 0 && value < 2 ** 40),
	epsilon: number$1((value) => value >= 0 && value < 2 ** 40),
	delta: number$1((value) => value >= 0 && value < 2 ** 40),
	unit: string,
	against: string
}), manifestFields = record({
	protocol: whole(3, 4),
	terms: matching(/^[0-9a-f]{64}$/),
	federation: matching(/^([0-9a-f]{2})*$/),
	serial: whole(0, 2 ** 32),
	round: whole(0, 2 ** 32),
	window: whole(0, 2 ** 32),
	nonce: matching(/^([0-9a-f]{2})*$/),
	previous: matching(/^([0-9a-f]{2})*$/),
	phase: string,
	part: number$1((value) => value > 0 && value <= 1),
	part_seed: matching(/^([0-9a-f]{2})*$/),
	model: download,
	changes: list(download, 8),
	shapes: mapping(list(whole(0, 2 ** 48), 32)),
	counts: nullOr(download),
	answers: boolean,
	called: whole(0, 2 ** 32),
	largest: whole(0, 2 ** 32),
	opened: number$1((value) => value >= 0 && value < 2 ** 40),
	deadline: number$1((value) => value >= 0 && value < 2 ** 40),
	hold: number$1((value) => value >= 0 && value < 2 ** 40),
	spread: number$1((value) => value >= 0 && value < 2 ** 40),
	privacy: nullOr(roundPrivacy)
}), LARGEST$2 = 65536, CLOCKS_DIFFER = 600, SIGNED_TERMS_BYTES = 192 + LARGEST$2, FederationTerms = class FederationTerms {
	content;
	hash;
	fields;
	constructor(content, hash, fields) {
		this.content = content, this.hash = hash, this.fields = fields;
	}
	static async decode(content) {
		if (content.length > LARGEST$2) throw malformed(`terms must have at most ${LARGEST$2} bytes, but have more.`);
		let fields = readCanonical(content, federationTermsFields, "a statement of terms");
		return checkMachines(fields), new FederationTerms(concat$1(content), await sha256(content), fields);
	}
	static async decodeSigned(message) {
		let terms = await FederationTerms.decode(message.subarray(192));
		return await terms.checkSigned("terms", terms.content, signatures(message)), terms;
	}
	get name() {
		return toHex(this.hash);
	}
	get readable() {
		return this.fields.channel.channel === "readable";
	}
	get channel() {
		return channelSettings(this.fields.channel);
	}
	get aggregators() {
		return [this.fields.seed_aggregator, this.fields.vector_aggregator].filter((one) => one !== null);
	}
	async checkSigned(purpose, content, signed) {
		let keys = [this.fields.coordinator, ...this.aggregators.map((one) => one.key)];
		for (let [place, key] of keys.entries()) await checkSignature(key, purpose, content, signed[place]);
	}
	isWindow(window, time) {
		let slack = Math.min(CLOCKS_DIFFER, this.fields.windows.seconds / 4);
		return this.window(time - slack) <= window && window <= this.window(time + slack);
	}
	window(time) {
		let { start, seconds } = this.fields.windows;
		return seconds === 0 ? 0 : Math.max(0, Math.floor((time - start) / seconds));
	}
	lostAfter(before) {
		let [now, then] = [this.fields.lost, before.fields.lost];
		return now && JSON.stringify(now) !== JSON.stringify(then) ? now : null;
	}
	differences(other) {
		let [ours, theirs] = [this, other].map(({ fields: { lost: _, ...fields } }) => flat(fields)), names = [...new Set([...ours.keys(), ...theirs.keys()])].sort(), shown = (value) => value && value.length > 40 ? `${value.slice(0, 16)}…` : value ?? "–", changes = names.filter((name) => ours.get(name) !== theirs.get(name)).map((name) => `${name} ${shown(ours.get(name))} → ${shown(theirs.get(name))}`), end = other.lostAfter(this);
		return end === null ? changes : [lostSentence(end.entries), ...changes];
	}
};
function signatures(message, at = 0) {
	return [
		0,
		1,
		2
	].map((n) => message.subarray(at + n * 64, at + (n + 1) * 64));
}
function checkMachines(terms) {
	let { seed_aggregator: seed, vector_aggregator: vector } = terms, readable = terms.channel.channel === "readable", pair = [seed, vector].filter((one) => one !== null);
	if (pair.length !== (readable ? 0 : 2)) throw malformed("terms must name two aggregators for a secure sum and none for readable mode.");
	if (terms.admission === "invited" != (terms.admitter.length === 64)) throw malformed("terms must name the key that admits, or admit everyone.");
	if (terms.admitter && terms.admitter === terms.coordinator) throw forged("the coordinator must not admit devices itself; take no part.");
	if (checkNoise(terms.noise), !seed || !vector) {
		if (isNoisy(terms.noise)) throw forged("terms must claim no noise where the server reads each update.");
		return;
	}
	let agreed = new Set([
		seed.sealing_key,
		vector.sealing_key,
		seed.proof_key,
		vector.proof_key
	]);
	if (new Set([
		seed.key,
		vector.key,
		terms.coordinator
	]).size < 3 || agreed.size < 4) throw forged("the coordinator and the two aggregators must have three different keys, but two are equal: one machine could read what you send; take no part.");
	let host = hostOf(seed.url);
	if (host === hostOf(vector.url) && !isLoopback(host)) throw forged(`the two aggregators must be on two hosts, but both are on ${host}; take no part.`);
	for (let { url } of pair) checkPlain(url);
}
function lostSentence(entries) {
	return `the servers lost the log after entry ${entries} and all copies of it, so nobody can check any more what was done after it`;
}
function flat(value, before = "", into = new Map()) {
	for (let [name, inner] of Object.entries(value)) typeof inner == "object" && inner && !Array.isArray(inner) ? flat(inner, `${before}${name}.`, into) : into.set(`${before}${name}`, JSON.stringify(inner));
	return into;
}
// src/protocol/merkle.ts
function leafHash(content) {
	return sha256(Uint8Array.of(0), content);
}
function nodeHash(left, right) {
	return sha256(Uint8Array.of(1), left, right);
}
async function includes(leaf, index, size, root, proof) {
	if (index < 0 || index >= size) return !1;
	let place = index, last = size - 1, found = leaf;
	for (let step of proof) {
		if (last === 0) return !1;
		if (place % 2 || place === last) for (found = await nodeHash(step, found); place % 2 == 0 && place;) [place, last] = [half$1(place), half$1(last)];
		else found = await nodeHash(found, step);
		[place, last] = [half$1(place), half$1(last)];
	}
	return last === 0 && equal(found, root);
}
async function extendsTree(first, before, size, root, proof) {
	if (first > size || first < 0) return !1;
	if (first === size || first === 0) return proof.length === 0 && (first === 0 || equal(before, root));
	let steps = Number.isInteger(Math.log2(first)) ? [before, ...proof] : [...proof];
	if (!steps.length) return !1;
	let place = first - 1, last = size - 1;
	for (; place % 2;) [place, last] = [half$1(place), half$1(last)];
	let old = steps[0], now = steps[0];
	for (let step of steps.slice(1)) {
		if (last === 0) return !1;
		if (place % 2 || place === last) for (old = await nodeHash(step, old), now = await nodeHash(step, now); place % 2 == 0 && place;) [place, last] = [half$1(place), half$1(last)];
		else now = await nodeHash(now, step);
		[place, last] = [half$1(place), half$1(last)];
	}
	return last === 0 && equal(old, before) && equal(now, root);
}
function half$1(n) {
	return Math.floor(n / 2);
}
// src/protocol/log.ts
var DEEPEST = 63, HEAD_BYTES$1 = 232, PROOF_BYTES = HEAD_BYTES$1 + 8 + 8 + 1 + 1, LogHead = class LogHead {
	size;
	root;
	signed;
	constructor(size, root, signed) {
		this.size = size, this.root = root, this.signed = signed;
	}
	static decode(message) {
		if (message.length !== HEAD_BYTES$1) throw malformed(`a head of the log must have ${HEAD_BYTES$1} bytes, but has others.`);
		return new LogHead(size(message, 0), message.subarray(8, 40), signatures(message, 40));
	}
	get seen() {
		return {
			size: this.size,
			root: toHex(this.root)
		};
	}
	async check(terms) {
		let { federation } = terms.fields, content = utf8(`{"federation":"${federation}","root":"${toHex(this.root)}","size":${this.size}}`);
		await terms.checkSigned("head", content, this.signed);
	}
}, LogProof = class LogProof {
	head;
	index;
	before;
	inclusion;
	consistency;
	constructor(head, index, before, inclusion, consistency) {
		this.head = head, this.index = index, this.before = before, this.inclusion = inclusion, this.consistency = consistency;
	}
	static decode(message) {
		let short = malformed("a proof of the log must be as long as it claims, but is not.");
		if (message.length < PROOF_BYTES) throw short;
		let inside = message[HEAD_BYTES$1 + 16], after = message[HEAD_BYTES$1 + 17], hashes = unpackHashes(message.subarray(PROOF_BYTES));
		if (Math.max(inside, after) > DEEPEST || inside + after !== hashes.length) throw short;
		return new LogProof(LogHead.decode(message.subarray(0, HEAD_BYTES$1)), size(message, HEAD_BYTES$1), size(message, HEAD_BYTES$1 + 8), hashes.slice(0, inside), hashes.slice(inside));
	}
	async check(terms, entry) {
		if (await this.head.check(terms), !await includes(await leafHash(entry), this.index, this.head.size, this.head.root, this.inclusion)) throw forged("what is shown must be in the public log, but is not; take no part.");
	}
};
function isExtended(now, before, proof) {
	let [old, root] = [before.root, now.root].map((one) => fromHex(one));
	return extendsTree(before.size, old, now.size, root, proof);
}
function manifestEntry(content) {
	return concat$1(utf8("manifest\0"), content);
}
function readModelEntry(entry) {
	let start = utf8("model\0"), content = entry.subarray(start.length);
	if (toHex(entry.subarray(0, start.length)) !== toHex(start) || ![40, 72].includes(content.length)) throw malformed("the newest model must be an entry of the log, but is not.");
	let model = toHex(content.subarray(8, 40));
	return {
		serial: size(content, 0),
		model,
		counts: toHex(content.subarray(40))
	};
}
function unpackHashes(message) {
	if (message.length % 32 || message.length > 4032) throw malformed("a proof must be whole hashes, and not too many, but is not.");
	return Array.from({ length: message.length / 32 }, (_, n) => message.subarray(n * 32, (n + 1) * 32));
}
function size(message, at) {
	let found = view(message).getBigUint64(at, !0);
	if (found > BigInt(2 ** 53 - 1)) throw forged("a log must be of a size it can have, but is not.");
	return Number(found);
}
// src/protocol/manifest.ts
var LARGEST$1 = 65536, LARGEST_ENVELOPE = 73728, SignedManifest = class SignedManifest {
	content;
	signed;
	proof;
	manifest;
	constructor(content, signed, proof, manifest) {
		this.content = content, this.signed = signed, this.proof = proof, this.manifest = manifest;
	}
	static async decode(message) {
		if (message.length <= 196 || message.length > 73728) throw malformed(`a signed manifest must not have ${message.length} bytes.`);
		let length = view(message).getUint32(192, !0);
		if (length > LARGEST$1 || 196 + length > message.length) throw malformed("a signed manifest must be as long as it claims, but is not.");
		let content = concat$1(message.subarray(196, 196 + length)), proof = LogProof.decode(message.subarray(196 + length)), fields = readCanonical(content, manifestFields, "a manifest"), hash = await sha256(content);
		return new SignedManifest(content, signatures(message), proof, {
			...fields,
			hash,
			name: toHex(hash)
		});
	}
	async check(terms) {
		await terms.checkSigned("manifest", this.content, this.signed), await this.proof.check(terms, manifestEntry(this.content));
		let { noise } = terms.fields, { privacy, phase } = this.manifest;
		if (!(isNoisy(noise) ? privacy !== null && privacy.noise === (noise.multipliers[phase] ?? 0) && privacy.epsilon === noise.epsilon && privacy.delta === noise.delta && privacy.unit === noise.unit && privacy.against === noise.against : privacy === null)) throw forged("a manifest must promise the noise of its terms, but promises other.");
	}
}, TermsChangedError = class extends RefusedError {
	offered;
	changes;
	name = "TermsChangedError";
	constructor(offered, changes) {
		super("forged", `the federation's terms must stay as they were joined, but changed (${changes.join("; ")}); nothing is sent.`), this.offered = offered, this.changes = changes;
	}
}, GoneBackError = class extends RefusedError {
	name = "GoneBackError";
	constructor(code, seen, shown) {
		super(code, `the servers have gone back to an older copy, or lie: this device has seen ${seen} entries of the log, but ${shown}; it sends nothing, keeps everything and looks again later.`);
	}
};
async function fetchTerms(send, url, fingerprint) {
	let request = {
		method: "GET",
		url: `${url}/terms`,
		purpose: "terms",
		largest: SIGNED_TERMS_BYTES
	}, terms = await FederationTerms.decodeSigned((await ask(send, request)).body);
	if (terms.name !== toHex(fingerprint)) throw forged(`the federation at ${url} must be the one of the invitation, but has other terms (${terms.name.slice(0, 16)}…); do not join it.`);
	return checkElsewhere(url, terms.aggregators.map((one) => one.url)), terms;
}
async function verified(message, terms, before, send, url) {
	let signed = await SignedManifest.decode(message), { manifest, proof } = signed;
	if (manifest.terms !== terms.name) {
		let offered = await fetchTerms(send, url, fromHex(manifest.terms));
		throw new TermsChangedError(offered, terms.differences(offered));
	}
	if (await signed.check(terms), manifest.federation !== terms.fields.federation) throw forged("the manifest must be of the federation this device joined, but is not.");
	return before && await checkGrown(proof.head.seen, before, before.size === proof.before ? proof.consistency : [], send, url), signed;
}
async function checkGrown(head, before, brought, send, url) {
	if (head.size < before.size) throw new GoneBackError("replay", before.size, `only ${head.size} are shown`);
	let proof = head.size === before.size ? [] : brought;
	if (!proof.length && before.size < head.size && (proof = unpackHashes((await ask(send, {
		method: "GET",
		url: `${url}/log/consistency/${before.size}/${head.size}`,
		purpose: "log"
	})).body)), !await isExtended(head, before, proof)) throw new GoneBackError("forged", before.size, "another past is shown");
}
async function lastVerified(send, url, terms, before) {
	let reply = await orUnknown(() => ask(send, {
		method: "GET",
		url: `${url}/round/last`,
		purpose: "round",
		largest: LARGEST_ENVELOPE
	}));
	if (reply === null) return null;
	let signed = await SignedManifest.decode(reply.body), shown = signed.proof.head.seen;
	return before && shown.size < before.size ? (await signed.check(terms), await checkGrown(before, shown, [], send, url), signed) : verified(reply.body, terms, before, send, url);
}
async function newestModel(send, url, terms, before) {
	let reply = await orUnknown(() => ask(send, {
		method: "GET",
		url: `${url}/model`,
		purpose: "newest model"
	}));
	if (reply === null) return null;
	let [entry, content] = unpackPair(reply.body), proof = LogProof.decode(content);
	await proof.check(terms, entry);
	let { model, counts } = readModelEntry(entry);
	return before && await checkGrown(proof.head.seen, before, [], send, url), {
		model,
		counts,
		head: proof.head.seen
	};
}
async function orUnknown(asked) {
	try {
		return await asked();
	} catch (error) {
		if (error instanceof RefusedError && error.code === "unknown") return null;
		throw error;
	}
}
// src/device/facts.ts
function isExact({ fields }) {
	return methodOf(fields).releasesCounts && !isNoisy(fields.noise);
}
function federationFacts(own, terms, info) {
	let { fields } = terms, { noise } = fields, noisy = isNoisy(noise), roles = ["seed aggregator", "vector aggregator"], machines = [{
		role: "coordinator",
		url: own.url,
		key: fields.coordinator
	}, ...terms.aggregators.map(({ url, key }, place) => ({
		role: roles[place],
		url,
		key
	}))];
	return {
		url: own.url,
		terms: terms.name,
		method: fields.method,
		minimum: terms.channel.minimum_cohort,
		readable: terms.readable,
		exact: isExact(terms),
		exactAllowed: own.exact === !0,
		clients: info.clients,
		people: info.people,
		epsilon: noisy ? noise.epsilon : null,
		delta: noisy ? noise.delta : null,
		unit: noise.unit,
		against: noise.against,
		machines,
		pinnedBy: own.pinnedBy === "invitation" ? "invitation" : "server",
		invited: own.pinnedBy === "invitation" && (fields.admission === "open" || own.admission !== null)
	};
}
// src/device/memory.ts
var NO_CONSENT = {
	paused: !1,
	train: !1,
	pi: 0,
	statistics: !1,
	never: [],
	epsilon: null
};
function freshMemory(head) {
	return {
		state: null,
		serial: -1,
		manifest: "",
		exchanges: [],
		joined: [],
		sent: [],
		pending: null,
		answered: [],
		log: null,
		spent: 0,
		unbounded: 0,
		lines: 0,
		head
	};
}
function answers(memory, phase, window) {
	return memory.answered.find((one) => one.phase === phase && one.window === window)?.times ?? 0;
}
function answering(memory, phase, window) {
	let others = memory.answered.filter((one) => one.phase !== phase);
	return {
		...memory,
		answered: [...others, {
			phase,
			window,
			times: answers(memory, phase, window) + 1
		}]
	};
}
function spending(memory, multiplier) {
	return multiplier ? {
		...memory,
		spent: memory.spent + multiplier ** -2
	} : {
		...memory,
		unbounded: memory.unbounded + 1
	};
}
function epsilonSpent(memory, delta) {
	return memory.unbounded ? Infinity : epsilonOf(Math.sqrt(memory.spent), delta);
}
function exchanging(memory, round, phase) {
	let others = memory.exchanges.filter(([at, name]) => at !== round || name !== phase);
	return {
		...memory,
		exchanges: [...others, [round, phase]].slice(-64)
	};
}
function dealtWith(memory, serial, manifest) {
	return {
		...memory,
		serial,
		manifest,
		pending: null
	};
}
function ended(memory, lost) {
	return !lost || !memory.log || memory.log.size <= lost.entries ? memory : {
		...memory,
		log: {
			size: lost.entries,
			root: lost.root
		}
	};
}
// src/device/checks.ts
var SHORTEST_WINDOW = 3600;
function checkWindows(terms) {
	let { seconds } = terms.fields.windows;
	if (seconds > 0 && seconds < SHORTEST_WINDOW) throw forged(`a release window must last at least ${SHORTEST_WINDOW} seconds, but lasts ${seconds}: sums of two of them would show who came between; do not join.`);
}
function checkExact(terms, allowed) {
	if (isExact(terms) && !allowed) throw new DeviceError("sums that everybody can read must have noise, but have none in this federation; allow it on the page about sharing, or share nothing.");
}
function isNew(manifest, memory, terms, now) {
	let { serial, round, phase, window } = manifest;
	if (serial < memory.serial) throw new RefusedError("replay", `manifest ${serial} comes after ${memory.serial}; take no part.`);
	if (serial === memory.serial) {
		if (manifest.name === memory.manifest) return !1;
		throw forged("the coordinator shows two different manifests for one round; take no part.");
	}
	if (serial === memory.serial + 1 && manifest.previous !== memory.manifest) throw forged("the manifest must follow the one this device has seen before it; take no part.");
	if (memory.pending?.manifest !== manifest.name && memory.exchanges.some(([at, name]) => at === round && name === phase)) throw new RefusedError("replay", "this exchange was answered before under another manifest; take no part.");
	let lastWindow = Math.max(0, ...memory.answered.map((one) => one.window)), lastRound = Math.max(0, ...memory.exchanges.map(([at]) => at));
	if (window < lastWindow) throw new RefusedError("replay", `window ${window} must not come after ${lastWindow}; take no part.`);
	if (round < lastRound) throw new RefusedError("replay", `round ${round} must not come after ${lastRound}; take no part.`);
	if (!terms.isWindow(window, now)) throw forged(`window ${window} must be that of the time, but is not; take no part.`);
	return !0;
}
function unasked(manifest, phase, memory, terms, place) {
	let { window } = manifest, again = Number(memory.pending?.manifest === manifest.name);
	if (phase.repeat !== null && answers(memory, phase.name, window) >= phase.repeat + again) return {
		kind: "declined",
		why: `phase '${phase.name}' was answered in window ${window}; a second answer would show what this device adds`
	};
	let most = terms.fields.noise.answers[phase.name];
	if (phase.repeat === null && most !== void 0 && answers(memory, phase.name, -1) >= most + again) return {
		kind: "declined",
		why: `phase '${phase.name}' was answered ${most} times, as often as the noise allows for`
	};
	if (phase.follows && !answers(memory, phase.follows, window)) return {
		kind: "declined",
		why: `this device was not counted in phase '${phase.follows}'`
	};
	if (manifest.part !== phase.part || manifest.part_seed !== "" != phase.part < 1) throw malformed("a manifest must ask the part of the devices its phase declares.");
	if (phase.part === 1) return null;
	let seed = fromHex(manifest.part_seed);
	if (seed.length !== 16) throw malformed("the seed of a part must have 16 bytes.");
	return inPublicPart(seed, place, phase.part) ? null : {
		kind: "not-called",
		why: "another part of the devices is asked"
	};
}
function checkPhase(phase, terms, clients) {
	let { admission, noise } = terms.fields;
	if (admission === "open" && !terms.readable && phase.follows && isExact(terms)) throw forged("exact sums of pairs must be of admitted devices, as only an admission links pairs to what it had counted, but everybody may take part; take no part.");
	if (!Object.keys(noise.multipliers).length) return;
	let people = Math.max(clients, terms.channel.minimum_cohort), bounded = phase.name in noise.multipliers && (phase.repeat ?? 0) <= (noise.answers[phase.name] ?? 0), exact = phase.claim?.kind === "pairs" || phase.sends.tables.some((one) => one.exact);
	if (noise.delta * people > 1 || !bounded || exact) throw forged(`the noise of the terms must bound every answer to phase '${phase.name}', but does not; take no part.`);
}
// src/device/choices.ts
function checkLikes(likes, items) {
	let known = Array.isArray(likes) ? likes.map((one) => one?.item) : [void 0];
	if (!known.every((item) => Number.isInteger(item) && item >= 0 && item < items) || new Set(known).size < known.length) throw new DeviceError("likes must be items of this federation, each once, but are not.");
}
async function changeLikes(storage, changed, on) {
	let items = new Set(changed.map(({ item }) => item));
	await storage.change(["likes"], ([likes]) => {
		let kept = likes ?? [];
		if (!on) return { likes: kept.filter(({ item }) => !items.has(item)) };
		let known = new Set(kept.map(({ item }) => item));
		return { likes: [...kept, ...changed.filter(({ item }) => !known.has(item))] };
	});
}
async function changePermission(storage, change) {
	return (await storage.change(["permission"], ([permission]) => {
		let kept = {
			...NO_CONSENT,
			...permission
		}, changed = {
			...kept,
			...change(kept)
		};
		return checkPermission(changed), { permission: changed };
	})).permission;
}
function checkPermission({ pi, never }) {
	if (!(pi >= 0 && pi <= 1)) throw new DeviceError(`pi must be between 0 and 1, but is ${pi}.`);
	if (!Array.isArray(never)) throw new DeviceError("what is never shared must be a list of items, but is not.");
}
// src/device/export.ts
var KIND = "murmura device", VERSION$1 = 1, NAMES = [
	"identity",
	"permission",
	"likes",
	"memory",
	"requests"
], LISTS = [
	"journal/",
	"receipts/",
	"traffic/"
], ARRAYS = {
	Uint8Array,
	Int32Array,
	Float32Array,
	Float64Array
};
async function exportedText(storage) {
	let values = {};
	for (let name of NAMES) {
		let value = await storage.read(name);
		value !== void 0 && (values[name] = value);
	}
	for (let prefix of LISTS) values[prefix] = await storage.list(prefix);
	return JSON.stringify({
		kind: KIND,
		version: VERSION$1,
		values
	}, plain, 1);
}
function readExport(text) {
	try {
		let read = JSON.parse(text, revived);
		if (read.kind !== KIND || read.version !== VERSION$1) throw TypeError();
		let changes = {};
		for (let name of NAMES) name in read.values && (changes[name] = read.values[name]);
		for (let prefix of LISTS) read.values[prefix].forEach((one, n) => {
			if (typeof one != "object" || !one) throw TypeError();
			changes[`${prefix}${String(n).padStart(9, "0")}`] = one;
		});
		return changes;
	} catch {
		throw new DeviceError("the file must be one that this page wrote under 'my data', but is not; choose that file.");
	}
}
function plain(_name, value) {
	for (let [kind, made] of Object.entries(ARRAYS)) if (value instanceof made) return {
		array: kind,
		bytes: toHex(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
	};
	return value;
}
function revived(_name, value) {
	let one = value;
	return typeof one?.array != "string" || typeof one.bytes != "string" || !(one.array in ARRAYS) ? value : new ARRAYS[one.array](fromHex(one.bytes).buffer);
}
// src/device/consent.ts
function stickyLimit(pi, n) {
	return Math.floor(pi * n + 1e-9);
}
function extendRecord(joined, never, items, pi, secret) {
	let own = [...new Set(items)].sort((a, b) => a - b), barred = new Set([...never, ...joined]), undecided = own.filter((item) => !barred.has(item)), grown = [...joined], free = Math.min(stickyLimit(pi, own.length) - joined.length, undecided.length), stream = new Rng(secret, joined.length).stream(Purpose.CONSENT);
	for (let n = 0; n < free; n++) {
		let place = stream.below(undecided.length);
		grown.push(undecided[place]), undecided[place] = undecided.at(-1), undecided.pop();
	}
	return grown;
}
function stickyConsent(joined, never, items, pi) {
	let active = new Set(joined.slice(0, stickyLimit(pi, items.length))), barred = new Set(never);
	return Float64Array.from(items, (item) => Number(active.has(item) && !barred.has(item)));
}
// src/device/history.ts
function heldHistory(likes, info, joined, allowed, secret) {
	let listed = new Set(info.listed), rows = likes.filter(({ item }) => listed.has(item)).sort((a, b) => a.item - b.item), item = Int32Array.from(rows, (one) => one.item), never = allowed.never, grown = extendRecord(joined, never, item, allowed.pi, secret), consent = stickyConsent(grown, never, item, allowed.pi), time = rows.length > 0 && rows.every(({ time }) => time !== null) ? Float64Array.from(rows, (one) => one.time) : null;
	return {
		history: {
			item,
			value: Float64Array.from(rows, (one) => one.value),
			consent,
			time
		},
		joined: grown
	};
}
// src/device/journal.ts
var START = "0".repeat(64);
function entryText(entry) {
	let { time, round, phase, manifest, bytes, rows, disclosed, epsilon, delta } = entry, optional = (name, value) => value === null ? "" : `"${name}":${spelledDouble(value)},`;
	return `{"bytes":${bytes},${optional("delta", delta)}"disclosed":${spelledDouble(disclosed)},${optional("epsilon", epsilon)}"event":"upload","manifest":${spelledString(manifest)},"phase":${spelledString(phase)},"round":${round},"rows":${rows},"time":${spelledString(time)}}`;
}
function link(before, entry) {
	return sha256Hex(utf8(before + entryText(entry)));
}
async function verifyJournal(lines, count, head) {
	let heads = [START];
	for (let [number, { entry, hash }] of lines.entries()) {
		if (await link(heads.at(-1), entry) !== hash) throw new DeviceError(`line ${number + 1} of the ledger must follow from the lines before it, but was changed, or a line was removed; nothing more leaves.`);
		heads.push(hash);
	}
	if (lines.length !== count || heads.at(-1) !== head) throw new DeviceError(`the ledger must have ${count} lines, but has ${lines.length}, or others; nothing more leaves.`);
	return heads;
}
function journalFiles(lines) {
	return {
		"journal.jsonl": lines.map(({ entry, hash }) => `{"entry": ${entryText(entry)}, "hash": "${hash}"}\n`).join(""),
		"journal.head": `${lines.length} ${lines.at(-1)?.hash ?? START}\n`
	};
}
function journalCsv(lines) {
	let names = [
		"time",
		"round",
		"phase",
		"manifest",
		"bytes",
		"rows",
		"disclosed",
		"event",
		"epsilon",
		"delta"
	], rows = lines.map(({ entry }) => names.map((name) => name === "event" ? "upload" : entry[name] ?? "").join(","));
	return [names.join(","), ...rows].join("\n") + "\n";
}
// src/device/identity.ts
var MINIMUM = 100;
function identityOf({ url, admission }, terms, by, known, entropy) {
	if (known && (known.url !== url || toHex(known.terms) !== toHex(terms.content))) throw new DeviceError("this browser is in another federation, or in an older version of this one; leave that one first, on the page about your data.");
	let pinnedBy = by === "invitation" ? by : known?.pinnedBy ?? by;
	if (known) return {
		...known,
		pinnedBy,
		admission: admission ?? known.admission
	};
	let words = new Uint32Array(entropy(8).buffer);
	return {
		url,
		terms: terms.content,
		pinnedBy,
		admission,
		secret: [words[0], words[1]],
		token: toHex(entropy(32)),
		place: null,
		minimum: MINIMUM,
		readable: !1,
		exact: !1
	};
}
async function checkIdentity(read, origin) {
	let one = read ?? {}, { url, terms, admission, secret, token, place, minimum, readable } = one, counted = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32;
	if (!(typeof url == "string" && terms instanceof Uint8Array && (admission === null || admission instanceof Uint8Array && admission.length === 104) && Array.isArray(secret) && secret.length === 2 && secret.every(counted) && typeof token == "string" && /^[0-9a-f]{64}$/.test(token) && (place === null || counted(place)) && counted(minimum) && typeof readable == "boolean")) throw new DeviceError("the file must say which device it is of, but does not; choose another one.");
	if (origin !== void 0 && url !== origin) throw new DeviceError(`the file must be of the page at ${origin}, but is of another one; open it there.`);
	checkAddress(url), await FederationTerms.decode(terms);
	let exact = one.exact === !0;
	return {
		...one,
		exact,
		pinnedBy: one.pinnedBy === "invitation" ? "invitation" : "server"
	};
}
// node_modules/@hpke/common/esm/src/errors.js
var HpkeError = class extends Error {
	constructor(e) {
		let message;
		message = e instanceof Error ? e.message : typeof e == "string" ? e : "", super(message), this.name = this.constructor.name;
	}
}, InvalidParamError = class extends HpkeError {}, SerializeError = class extends HpkeError {}, DeserializeError = class extends HpkeError {}, EncapError = class extends HpkeError {}, DecapError = class extends HpkeError {}, ExportError = class extends HpkeError {}, SealError = class extends HpkeError {}, OpenError = class extends HpkeError {}, MessageLimitReachedError = class extends HpkeError {}, DeriveKeyPairError = class extends HpkeError {}, NotSupportedError = class extends HpkeError {}, dntGlobalThis = createMergeProxy(globalThis, {});
function createMergeProxy(baseObj, extObj) {
	return new Proxy(baseObj, {
		get(_target, prop, _receiver) {
			return prop in extObj ? extObj[prop] : baseObj[prop];
		},
		set(_target, prop, value) {
			return prop in extObj && delete extObj[prop], baseObj[prop] = value, !0;
		},
		deleteProperty(_target, prop) {
			let success = !1;
			return prop in extObj && (delete extObj[prop], success = !0), prop in baseObj && (delete baseObj[prop], success = !0), success;
		},
		ownKeys(_target) {
			let baseKeys = Reflect.ownKeys(baseObj), extKeys = Reflect.ownKeys(extObj), extKeysSet = new Set(extKeys);
			return [...baseKeys.filter((k) => !extKeysSet.has(k)), ...extKeys];
		},
		defineProperty(_target, prop, desc) {
			return prop in extObj && delete extObj[prop], Reflect.defineProperty(baseObj, prop, desc), !0;
		},
		getOwnPropertyDescriptor(_target, prop) {
			return prop in extObj ? Reflect.getOwnPropertyDescriptor(extObj, prop) : Reflect.getOwnPropertyDescriptor(baseObj, prop);
		},
		has(_target, prop) {
			return prop in extObj || prop in baseObj;
		}
	});
}
// \0vite/preload-helper.js
var scriptRel = (function() {
	let relList = typeof document < "u" && document.createElement("link").relList;
	return relList && relList.supports && relList.supports("modulepreload") ? "modulepreload" : "preload";
})(), assetsURL = function(dep) {
	return "/" + dep;
}, seen = {}, isCssPreloadUrl = function(url) {
	return url.pathname.endsWith(".css");
}, preloadOnce = function(seen, href, preload) {
	if (href in seen) return seen[href];
	let promise = preload();
	if (!promise) {
		seen[href] = void 0;
		return;
	}
	let preloadPromise = promise.then(() => {
		seen[href] = void 0;
	}, (err) => {
		throw seen[href] = void 0, err;
	});
	return seen[href] = preloadPromise, preloadPromise;
}, __vitePreload = function(baseModule, deps, importerUrl) {
	let promise = Promise.resolve();
	if (deps && deps.length > 0) {
		let preloadedHrefs, cspNonceMeta = document.querySelector("meta[property=csp-nonce]"), cspNonce = cspNonceMeta?.nonce || cspNonceMeta?.getAttribute("nonce");
		function allSettled(promises) {
			return Promise.all(promises.map((p) => Promise.resolve(p).then((value) => ({
				status: "fulfilled",
				value
			}), (reason) => ({
				status: "rejected",
				reason
			}))));
		}
		function importMetaResolve(specifier) {
			return import.meta.resolve ? new URL(import.meta.resolve(specifier)) : new URL(specifier, import.meta.url);
		}
		promise = allSettled(deps.map((depString) => {
			depString = assetsURL(depString, importerUrl);
			let dep = importMetaResolve(depString), isCss = isCssPreloadUrl(dep);
			return preloadOnce(seen, dep.href, () => {
				if (preloadedHrefs === void 0) {
					preloadedHrefs = {
						all: new Set(),
						styles: new Set()
					};
					let links = document.getElementsByTagName("link");
					for (let i = links.length - 1; i >= 0; i--) {
						let link = links[i];
						preloadedHrefs.all.add(link.href), link.rel === "stylesheet" && preloadedHrefs.styles.add(link.href);
					}
				}
				if ((isCss ? preloadedHrefs.styles : preloadedHrefs.all).has(dep.href)) return;
				let link = document.createElement("link");
				if (link.rel = isCss ? "stylesheet" : scriptRel, isCss || (link.as = "script"), link.crossOrigin = "", link.href = dep.href, cspNonce && link.setAttribute("nonce", cspNonce), document.head.appendChild(link), isCss) return new Promise((res, rej) => {
					let handleSettle = (e) => {
						link.removeEventListener("load", handleSettle), link.removeEventListener("error", handleSettle), e.type === "error" ? rej(Error(`Unable to preload CSS for ${dep}`)) : res(e);
					};
					link.addEventListener("load", handleSettle), link.addEventListener("error", handleSettle);
				});
			});
		}).filter((p) => p !== void 0));
	}
	function handlePreloadError(err) {
		let e = new Event("vite:preloadError", { cancelable: !0 });
		if (e.payload = err, window.dispatchEvent(e), !e.defaultPrevented) throw err;
	}
	return promise.then((res) => {
		for (let item of res || []) item.status === "rejected" && handlePreloadError(item.reason);
		return baseModule().catch(handlePreloadError);
	});
};
// node_modules/@hpke/common/esm/src/algorithm.js
async function loadSubtleCrypto() {
	if (dntGlobalThis !== void 0 && globalThis.crypto !== void 0) return globalThis.crypto.subtle;
	try {
		let { webcrypto } = await __vitePreload(async () => {
			let { webcrypto } = await import("./__vite-browser-external.js").then((m) => __toESM(m.default));
			return { webcrypto };
		}, []);
		return webcrypto.subtle;
	} catch (e) {
		throw new NotSupportedError(e);
	}
}
var NativeAlgorithm = class {
	constructor() {
		Object.defineProperty(this, "_api", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		});
	}
	async _setup() {
		this._api === void 0 && (this._api = await loadSubtleCrypto());
	}
}, Mode = {
	Base: 0,
	Psk: 1,
	Auth: 2,
	AuthPsk: 3
}, KemId = {
	NotAssigned: 0,
	DhkemP256HkdfSha256: 16,
	DhkemP384HkdfSha384: 17,
	DhkemP521HkdfSha512: 18,
	DhkemSecp256k1HkdfSha256: 19,
	DhkemX25519HkdfSha256: 32,
	DhkemX448HkdfSha512: 33,
	HybridkemX25519Kyber768: 48,
	MlKem512: 64,
	MlKem768: 65,
	MlKem1024: 66,
	XWing: 25722
}, KdfId = {
	HkdfSha256: 1,
	HkdfSha384: 2,
	HkdfSha512: 3,
	Sha3256: 4,
	Sha3384: 5,
	Sha3512: 6,
	Shake128: 16,
	Shake256: 17,
	TurboShake128: 18,
	TurboShake256: 19
}, AeadId = {
	Aes128Gcm: 1,
	Aes256Gcm: 2,
	Chacha20Poly1305: 3,
	ExportOnly: 65535
}, EMPTY$1 = new Uint8Array(), SUITE_ID_HEADER_KEM = new Uint8Array([
	75,
	69,
	77,
	0,
	0
]), HPKE_VERSION = new Uint8Array([
	72,
	80,
	75,
	69,
	45,
	118,
	49
]);
function toUint8Array(input) {
	return new Uint8Array(toArrayBuffer(input));
}
function toArrayBuffer(input) {
	return input instanceof ArrayBuffer ? input : ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength).slice().buffer : new Uint8Array(input).slice().buffer;
}
var HkdfNative = class extends NativeAlgorithm {
	constructor() {
		super(), Object.defineProperty(this, "id", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: KdfId.HkdfSha256
		}), Object.defineProperty(this, "hashSize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 0
		}), Object.defineProperty(this, "_suiteId", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: EMPTY$1
		}), Object.defineProperty(this, "algHash", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: {
				name: "HMAC",
				hash: "SHA-256",
				length: 256
			}
		});
	}
	init(suiteId) {
		this._suiteId = suiteId;
	}
	buildLabeledIkm(label, ikm) {
		this._checkInit();
		let ret = new Uint8Array(7 + this._suiteId.byteLength + label.byteLength + ikm.byteLength);
		return ret.set(HPKE_VERSION, 0), ret.set(this._suiteId, 7), ret.set(label, 7 + this._suiteId.byteLength), ret.set(ikm, 7 + this._suiteId.byteLength + label.byteLength), ret;
	}
	buildLabeledInfo(label, info, len) {
		this._checkInit();
		let ret = new Uint8Array(9 + this._suiteId.byteLength + label.byteLength + info.byteLength);
		return ret.set(new Uint8Array([0, len]), 0), ret.set(HPKE_VERSION, 2), ret.set(this._suiteId, 9), ret.set(label, 9 + this._suiteId.byteLength), ret.set(info, 9 + this._suiteId.byteLength + label.byteLength), ret;
	}
	async extract(salt, ikm) {
		await this._setup();
		let saltBuf = salt.byteLength === 0 ? new ArrayBuffer(this.hashSize) : toArrayBuffer(salt);
		if (saltBuf.byteLength !== this.hashSize) throw new InvalidParamError("The salt length must be the same as the hashSize");
		let ikmBuf = toArrayBuffer(ikm), key = await this._api.importKey("raw", saltBuf, this.algHash, !1, ["sign"]);
		return await this._api.sign("HMAC", key, ikmBuf);
	}
	async expand(prk, info, len) {
		await this._setup();
		let prkBuf = toArrayBuffer(prk), key = await this._api.importKey("raw", prkBuf, this.algHash, !1, ["sign"]), okm = new ArrayBuffer(len), okmBytes = new Uint8Array(okm), prev = EMPTY$1, mid = toUint8Array(info), tail = new Uint8Array(1);
		if (len > 255 * this.hashSize) throw Error("Entropy limit reached");
		let tmp = new Uint8Array(this.hashSize + mid.length + 1);
		for (let i = 1, cur = 0; cur < okmBytes.length; i++) tail[0] = i, tmp.set(prev, 0), tmp.set(mid, prev.length), tmp.set(tail, prev.length + mid.length), prev = new Uint8Array(await this._api.sign("HMAC", key, tmp.slice(0, prev.length + mid.length + 1))), okmBytes.length - cur >= prev.length ? (okmBytes.set(prev, cur), cur += prev.length) : (okmBytes.set(prev.slice(0, okmBytes.length - cur), cur), cur += okmBytes.length - cur);
		return okm;
	}
	async extractAndExpand(salt, ikm, info, len) {
		await this._setup();
		let ikmBuf = toArrayBuffer(ikm), baseKey = await this._api.importKey("raw", ikmBuf, "HKDF", !1, ["deriveBits"]);
		return await this._api.deriveBits({
			name: "HKDF",
			hash: this.algHash.hash,
			salt: toArrayBuffer(salt),
			info: toArrayBuffer(info)
		}, baseKey, len * 8);
	}
	async labeledExtract(salt, label, ikm) {
		return await this.extract(salt, this.buildLabeledIkm(label, ikm));
	}
	async labeledExpand(prk, label, info, len) {
		return await this.expand(prk, this.buildLabeledInfo(label, info, len), len);
	}
	_checkInit() {
		if (this._suiteId === EMPTY$1) throw Error("Not initialized. Call init()");
	}
}, HkdfSha256Native = class extends HkdfNative {
	constructor() {
		super(...arguments), Object.defineProperty(this, "id", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: KdfId.HkdfSha256
		}), Object.defineProperty(this, "hashSize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 32
		}), Object.defineProperty(this, "algHash", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: {
				name: "HMAC",
				hash: "SHA-256",
				length: 256
			}
		});
	}
}, isCryptoKeyPair = (x) => typeof x == "object" && !!x && typeof x.privateKey == "object" && typeof x.publicKey == "object";
function i2Osp(n, w) {
	if (w <= 0) throw Error("i2Osp: too small size");
	if (n >= 256 ** w) throw Error("i2Osp: too large integer");
	let ret = new Uint8Array(w);
	for (let i = 0; i < w && n; i++) ret[w - (i + 1)] = n % 256, n = Math.floor(n / 256);
	return ret;
}
function concat(a, b) {
	let ret = new Uint8Array(a.length + b.length);
	return ret.set(a, 0), ret.set(b, a.length), ret;
}
function base64UrlToBytes(v) {
	let base64 = v.replace(/-/g, "+").replace(/_/g, "/"), byteString = atob(base64), ret = new Uint8Array(byteString.length);
	for (let i = 0; i < byteString.length; i++) ret[i] = byteString.charCodeAt(i);
	return ret;
}
function xor(a, b) {
	if (a.byteLength !== b.byteLength) throw Error("xor: different length inputs");
	let buf = new Uint8Array(a.byteLength);
	for (let i = 0; i < a.byteLength; i++) buf[i] = a[i] ^ b[i];
	return buf;
}
// node_modules/@hpke/common/esm/src/kems/dhkem.js
var LABEL_EAE_PRK = new Uint8Array([
	101,
	97,
	101,
	95,
	112,
	114,
	107
]), LABEL_SHARED_SECRET = new Uint8Array([
	115,
	104,
	97,
	114,
	101,
	100,
	95,
	115,
	101,
	99,
	114,
	101,
	116
]);
function concat3(a, b, c) {
	let ret = new Uint8Array(a.length + b.length + c.length);
	return ret.set(a, 0), ret.set(b, a.length), ret.set(c, a.length + b.length), ret;
}
var Dhkem = class {
	constructor(id, prim, kdf) {
		Object.defineProperty(this, "id", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "secretSize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 0
		}), Object.defineProperty(this, "encSize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 0
		}), Object.defineProperty(this, "publicKeySize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 0
		}), Object.defineProperty(this, "privateKeySize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 0
		}), Object.defineProperty(this, "_prim", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_kdf", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), this.id = id, this._prim = prim, this._kdf = kdf;
		let suiteId = new Uint8Array(SUITE_ID_HEADER_KEM);
		suiteId.set(i2Osp(this.id, 2), 3), this._kdf.init(suiteId);
	}
	async serializePublicKey(key) {
		return await this._prim.serializePublicKey(key);
	}
	async deserializePublicKey(key) {
		return await this._prim.deserializePublicKey(toArrayBuffer(key));
	}
	async serializePrivateKey(key) {
		return await this._prim.serializePrivateKey(key);
	}
	async deserializePrivateKey(key) {
		return await this._prim.deserializePrivateKey(toArrayBuffer(key));
	}
	async importKey(format, key, isPublic = !0) {
		return await this._prim.importKey(format, key, isPublic);
	}
	async generateKeyPair() {
		return await this._prim.generateKeyPair();
	}
	async deriveKeyPair(ikm) {
		let rawIkm = toArrayBuffer(ikm);
		if (rawIkm.byteLength > 8192) throw new InvalidParamError("Too long ikm");
		return await this._prim.deriveKeyPair(rawIkm);
	}
	async encap(params) {
		let ke;
		ke = params.ekm === void 0 ? await this.generateKeyPair() : isCryptoKeyPair(params.ekm) ? params.ekm : await this.deriveKeyPair(params.ekm);
		let enc = await this._prim.serializePublicKey(ke.publicKey), pkrm = await this._prim.serializePublicKey(params.recipientPublicKey);
		try {
			let dh;
			if (params.senderKey === void 0) dh = new Uint8Array(await this._prim.dh(ke.privateKey, params.recipientPublicKey));
			else {
				let sks = isCryptoKeyPair(params.senderKey) ? params.senderKey.privateKey : params.senderKey;
				dh = concat(new Uint8Array(await this._prim.dh(ke.privateKey, params.recipientPublicKey)), new Uint8Array(await this._prim.dh(sks, params.recipientPublicKey)));
			}
			let kemContext;
			if (params.senderKey === void 0) kemContext = concat(new Uint8Array(enc), new Uint8Array(pkrm));
			else {
				let pks = isCryptoKeyPair(params.senderKey) ? params.senderKey.publicKey : await this._prim.derivePublicKey(params.senderKey), pksm = await this._prim.serializePublicKey(pks);
				kemContext = concat3(new Uint8Array(enc), new Uint8Array(pkrm), new Uint8Array(pksm));
			}
			return {
				enc,
				sharedSecret: await this._generateSharedSecret(dh, kemContext)
			};
		} catch (e) {
			throw new EncapError(e);
		}
	}
	async decap(params) {
		let enc = toArrayBuffer(params.enc), pke = await this._prim.deserializePublicKey(enc), skr = isCryptoKeyPair(params.recipientKey) ? params.recipientKey.privateKey : params.recipientKey, pkr = isCryptoKeyPair(params.recipientKey) ? params.recipientKey.publicKey : await this._prim.derivePublicKey(params.recipientKey), pkrm = await this._prim.serializePublicKey(pkr);
		try {
			let dh;
			dh = params.senderPublicKey === void 0 ? new Uint8Array(await this._prim.dh(skr, pke)) : concat(new Uint8Array(await this._prim.dh(skr, pke)), new Uint8Array(await this._prim.dh(skr, params.senderPublicKey)));
			let kemContext;
			if (params.senderPublicKey === void 0) kemContext = concat(new Uint8Array(enc), new Uint8Array(pkrm));
			else {
				let pksm = await this._prim.serializePublicKey(params.senderPublicKey);
				kemContext = new Uint8Array(enc.byteLength + pkrm.byteLength + pksm.byteLength), kemContext.set(new Uint8Array(enc), 0), kemContext.set(new Uint8Array(pkrm), enc.byteLength), kemContext.set(new Uint8Array(pksm), enc.byteLength + pkrm.byteLength);
			}
			return await this._generateSharedSecret(dh, kemContext);
		} catch (e) {
			throw new DecapError(e);
		}
	}
	async _generateSharedSecret(dh, kemContext) {
		let labeledIkm = this._kdf.buildLabeledIkm(LABEL_EAE_PRK, dh), labeledInfo = this._kdf.buildLabeledInfo(LABEL_SHARED_SECRET, kemContext, this.secretSize);
		return await this._kdf.extractAndExpand(EMPTY$1, labeledIkm, labeledInfo, this.secretSize);
	}
}, KEM_USAGES = ["deriveBits"], LABEL_DKP_PRK = new Uint8Array([
	100,
	107,
	112,
	95,
	112,
	114,
	107
]), LABEL_SK = new Uint8Array([115, 107]), AEAD_USAGES = ["encrypt", "decrypt"], AesGcmContext = class extends NativeAlgorithm {
	constructor(key) {
		super(), Object.defineProperty(this, "_rawKey", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_key", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), this._rawKey = toArrayBuffer(key);
	}
	async seal(iv, data, aad) {
		await this._setupKey();
		let alg = {
			name: "AES-GCM",
			iv: toArrayBuffer(iv),
			additionalData: toArrayBuffer(aad)
		};
		return await this._api.encrypt(alg, this._key, toArrayBuffer(data));
	}
	async open(iv, data, aad) {
		await this._setupKey();
		let alg = {
			name: "AES-GCM",
			iv: toArrayBuffer(iv),
			additionalData: toArrayBuffer(aad)
		};
		return await this._api.decrypt(alg, this._key, toArrayBuffer(data));
	}
	async _setupKey() {
		if (this._key !== void 0) return;
		await this._setup();
		let key = await this._importKey(this._rawKey);
		new Uint8Array(this._rawKey).fill(0), this._key = key;
	}
	async _importKey(key) {
		return await this._api.importKey("raw", key, { name: "AES-GCM" }, !0, AEAD_USAGES);
	}
}, Aes128Gcm = class {
	constructor() {
		Object.defineProperty(this, "id", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: AeadId.Aes128Gcm
		}), Object.defineProperty(this, "keySize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 16
		}), Object.defineProperty(this, "nonceSize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 12
		}), Object.defineProperty(this, "tagSize", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: 16
		});
	}
	createEncryptionContext(key) {
		return new AesGcmContext(key);
	}
};
// node_modules/@hpke/core/esm/src/utils/emitNotSupported.js
function emitNotSupported() {
	return new Promise((_resolve, reject) => {
		reject(new NotSupportedError("Not supported"));
	});
}
// node_modules/@hpke/core/esm/src/exporterContext.js
var LABEL_SEC = new Uint8Array([
	115,
	101,
	99
]), ExporterContextImpl = class {
	constructor(api, kdf, exporterSecret) {
		Object.defineProperty(this, "_api", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "exporterSecret", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_kdf", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), this._api = api, this._kdf = kdf, this.exporterSecret = exporterSecret;
	}
	async seal(_data, _aad) {
		return await emitNotSupported();
	}
	async open(_data, _aad) {
		return await emitNotSupported();
	}
	async export(exporterContext, len) {
		let rawExporterContext = toArrayBuffer(exporterContext);
		if (rawExporterContext.byteLength > 8192) throw new InvalidParamError("Too long exporter context");
		try {
			return await this._kdf.labeledExpand(this.exporterSecret, LABEL_SEC, new Uint8Array(rawExporterContext), len);
		} catch (e) {
			throw new ExportError(e);
		}
	}
}, RecipientExporterContextImpl = class extends ExporterContextImpl {}, SenderExporterContextImpl = class extends ExporterContextImpl {
	constructor(api, kdf, exporterSecret, enc) {
		super(api, kdf, exporterSecret), Object.defineProperty(this, "enc", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), this.enc = enc;
	}
}, EncryptionContextImpl = class extends ExporterContextImpl {
	constructor(api, kdf, params) {
		if (super(api, kdf, params.exporterSecret), Object.defineProperty(this, "_aead", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_nK", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_nN", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_nT", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_ctx", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), params.key === void 0 || params.baseNonce === void 0 || params.seq === void 0) throw Error("Required parameters are missing");
		this._aead = params.aead, this._nK = this._aead.keySize, this._nN = this._aead.nonceSize, this._nT = this._aead.tagSize;
		let key = this._aead.createEncryptionContext(params.key);
		this._ctx = {
			key,
			baseNonce: params.baseNonce,
			seq: params.seq
		};
	}
	computeNonce(k) {
		let seqBytes = i2Osp(k.seq, k.baseNonce.byteLength);
		return xor(k.baseNonce, seqBytes).buffer;
	}
	incrementSeq(k) {
		if (k.seq > 2 ** 53 - 1) throw new MessageLimitReachedError("Message limit reached");
		k.seq += 1;
	}
}, __classPrivateFieldGet$2 = function(receiver, state, kind, f) {
	if (kind === "a" && !f) throw TypeError("Private accessor was defined without a getter");
	if (typeof state == "function" ? receiver !== state || !f : !state.has(receiver)) throw TypeError("Cannot read private member from an object whose class did not declare it");
	return kind === "m" ? f : kind === "a" ? f.call(receiver) : f ? f.value : state.get(receiver);
}, __classPrivateFieldSet$2 = function(receiver, state, value, kind, f) {
	if (kind === "m") throw TypeError("Private method is not writable");
	if (kind === "a" && !f) throw TypeError("Private accessor was defined without a setter");
	if (typeof state == "function" ? receiver !== state || !f : !state.has(receiver)) throw TypeError("Cannot write private member to an object whose class did not declare it");
	return kind === "a" ? f.call(receiver, value) : f ? f.value = value : state.set(receiver, value), value;
}, _Mutex_locked, Mutex = class {
	constructor() {
		_Mutex_locked.set(this, Promise.resolve());
	}
	async lock() {
		let releaseLock, nextLock = new Promise((resolve) => {
			releaseLock = resolve;
		}), previousLock = __classPrivateFieldGet$2(this, _Mutex_locked, "f");
		return __classPrivateFieldSet$2(this, _Mutex_locked, nextLock, "f"), await previousLock, releaseLock;
	}
};
_Mutex_locked = new WeakMap();
// node_modules/@hpke/core/esm/src/recipientContext.js
var __classPrivateFieldGet$1 = function(receiver, state, kind, f) {
	if (kind === "a" && !f) throw TypeError("Private accessor was defined without a getter");
	if (typeof state == "function" ? receiver !== state || !f : !state.has(receiver)) throw TypeError("Cannot read private member from an object whose class did not declare it");
	return kind === "m" ? f : kind === "a" ? f.call(receiver) : f ? f.value : state.get(receiver);
}, __classPrivateFieldSet$1 = function(receiver, state, value, kind, f) {
	if (kind === "m") throw TypeError("Private method is not writable");
	if (kind === "a" && !f) throw TypeError("Private accessor was defined without a setter");
	if (typeof state == "function" ? receiver !== state || !f : !state.has(receiver)) throw TypeError("Cannot write private member to an object whose class did not declare it");
	return kind === "a" ? f.call(receiver, value) : f ? f.value = value : state.set(receiver, value), value;
}, _RecipientContextImpl_mutex, RecipientContextImpl = class extends EncryptionContextImpl {
	constructor() {
		super(...arguments), _RecipientContextImpl_mutex.set(this, void 0);
	}
	async open(data, aad = EMPTY$1.buffer) {
		__classPrivateFieldSet$1(this, _RecipientContextImpl_mutex, __classPrivateFieldGet$1(this, _RecipientContextImpl_mutex, "f") ?? new Mutex(), "f");
		let release = await __classPrivateFieldGet$1(this, _RecipientContextImpl_mutex, "f").lock(), pt;
		try {
			pt = await this._ctx.key.open(this.computeNonce(this._ctx), toArrayBuffer(data), toArrayBuffer(aad));
		} catch (e) {
			throw new OpenError(e);
		} finally {
			release();
		}
		return this.incrementSeq(this._ctx), pt;
	}
};
_RecipientContextImpl_mutex = new WeakMap();
// node_modules/@hpke/core/esm/src/senderContext.js
var __classPrivateFieldGet = function(receiver, state, kind, f) {
	if (kind === "a" && !f) throw TypeError("Private accessor was defined without a getter");
	if (typeof state == "function" ? receiver !== state || !f : !state.has(receiver)) throw TypeError("Cannot read private member from an object whose class did not declare it");
	return kind === "m" ? f : kind === "a" ? f.call(receiver) : f ? f.value : state.get(receiver);
}, __classPrivateFieldSet = function(receiver, state, value, kind, f) {
	if (kind === "m") throw TypeError("Private method is not writable");
	if (kind === "a" && !f) throw TypeError("Private accessor was defined without a setter");
	if (typeof state == "function" ? receiver !== state || !f : !state.has(receiver)) throw TypeError("Cannot write private member to an object whose class did not declare it");
	return kind === "a" ? f.call(receiver, value) : f ? f.value = value : state.set(receiver, value), value;
}, _SenderContextImpl_mutex, SenderContextImpl = class extends EncryptionContextImpl {
	constructor(api, kdf, params, enc) {
		super(api, kdf, params), Object.defineProperty(this, "enc", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), _SenderContextImpl_mutex.set(this, void 0), this.enc = enc;
	}
	async seal(data, aad = EMPTY$1.buffer) {
		__classPrivateFieldSet(this, _SenderContextImpl_mutex, __classPrivateFieldGet(this, _SenderContextImpl_mutex, "f") ?? new Mutex(), "f");
		let release = await __classPrivateFieldGet(this, _SenderContextImpl_mutex, "f").lock(), ct;
		try {
			ct = await this._ctx.key.seal(this.computeNonce(this._ctx), toArrayBuffer(data), toArrayBuffer(aad));
		} catch (e) {
			throw new SealError(e);
		} finally {
			release();
		}
		return this.incrementSeq(this._ctx), ct;
	}
};
_SenderContextImpl_mutex = new WeakMap();
// node_modules/@hpke/core/esm/src/cipherSuiteNative.js
var LABEL_BASE_NONCE = new Uint8Array([
	98,
	97,
	115,
	101,
	95,
	110,
	111,
	110,
	99,
	101
]), LABEL_EXP = new Uint8Array([
	101,
	120,
	112
]), LABEL_INFO_HASH = new Uint8Array([
	105,
	110,
	102,
	111,
	95,
	104,
	97,
	115,
	104
]), LABEL_KEY = new Uint8Array([
	107,
	101,
	121
]), LABEL_PSK_ID_HASH = new Uint8Array([
	112,
	115,
	107,
	95,
	105,
	100,
	95,
	104,
	97,
	115,
	104
]), LABEL_SECRET = new Uint8Array([
	115,
	101,
	99,
	114,
	101,
	116
]), SUITE_ID_HEADER_HPKE = new Uint8Array([
	72,
	80,
	75,
	69,
	0,
	0,
	0,
	0,
	0,
	0
]), CipherSuiteNative = class extends NativeAlgorithm {
	constructor(params) {
		if (super(), Object.defineProperty(this, "_kem", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_kdf", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_aead", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_suiteId", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), typeof params.kem == "number") throw new InvalidParamError("KemId cannot be used");
		if (this._kem = params.kem, typeof params.kdf == "number") throw new InvalidParamError("KdfId cannot be used");
		if (this._kdf = params.kdf, typeof params.aead == "number") throw new InvalidParamError("AeadId cannot be used");
		this._aead = params.aead, this._suiteId = new Uint8Array(SUITE_ID_HEADER_HPKE), this._suiteId.set(i2Osp(this._kem.id, 2), 4), this._suiteId.set(i2Osp(this._kdf.id, 2), 6), this._suiteId.set(i2Osp(this._aead.id, 2), 8), this._kdf.init(this._suiteId);
	}
	get kem() {
		return this._kem;
	}
	get kdf() {
		return this._kdf;
	}
	get aead() {
		return this._aead;
	}
	async createSenderContext(params) {
		this._validateInputLength(params), await this._setup();
		let dh = await this._kem.encap(params), mode;
		return mode = params.psk === void 0 ? params.senderKey === void 0 ? Mode.Base : Mode.Auth : params.senderKey === void 0 ? Mode.Psk : Mode.AuthPsk, await this._keyScheduleS(mode, dh.sharedSecret, dh.enc, params);
	}
	async createRecipientContext(params) {
		this._validateInputLength(params), await this._setup();
		let sharedSecret = await this._kem.decap(params), mode;
		return mode = params.psk === void 0 ? params.senderPublicKey === void 0 ? Mode.Base : Mode.Auth : params.senderPublicKey === void 0 ? Mode.Psk : Mode.AuthPsk, await this._keyScheduleR(mode, sharedSecret, params);
	}
	async seal(params, pt, aad = EMPTY$1.buffer) {
		let ctx = await this.createSenderContext(params);
		return {
			ct: await ctx.seal(pt, aad),
			enc: ctx.enc
		};
	}
	async open(params, ct, aad = EMPTY$1.buffer) {
		return await (await this.createRecipientContext(params)).open(ct, aad);
	}
	async _keySchedule(mode, sharedSecret, params) {
		let pskId = params.psk === void 0 ? EMPTY$1 : toUint8Array(params.psk.id), pskIdHash = await this._kdf.labeledExtract(EMPTY$1, LABEL_PSK_ID_HASH, pskId), info = params.info === void 0 ? EMPTY$1 : toUint8Array(params.info), infoHash = await this._kdf.labeledExtract(EMPTY$1, LABEL_INFO_HASH, info), keyScheduleContext = new Uint8Array(1 + pskIdHash.byteLength + infoHash.byteLength);
		keyScheduleContext.set(new Uint8Array([mode]), 0), keyScheduleContext.set(new Uint8Array(pskIdHash), 1), keyScheduleContext.set(new Uint8Array(infoHash), 1 + pskIdHash.byteLength);
		let psk = params.psk === void 0 ? EMPTY$1 : toUint8Array(params.psk.key), ikm = this._kdf.buildLabeledIkm(LABEL_SECRET, psk), exporterSecretInfo = this._kdf.buildLabeledInfo(LABEL_EXP, keyScheduleContext, this._kdf.hashSize), exporterSecret = await this._kdf.extractAndExpand(sharedSecret, ikm, exporterSecretInfo, this._kdf.hashSize);
		if (this._aead.id === AeadId.ExportOnly) return {
			aead: this._aead,
			exporterSecret
		};
		let keyInfo = this._kdf.buildLabeledInfo(LABEL_KEY, keyScheduleContext, this._aead.keySize), key = await this._kdf.extractAndExpand(sharedSecret, ikm, keyInfo, this._aead.keySize), baseNonceInfo = this._kdf.buildLabeledInfo(LABEL_BASE_NONCE, keyScheduleContext, this._aead.nonceSize), baseNonce = await this._kdf.extractAndExpand(sharedSecret, ikm, baseNonceInfo, this._aead.nonceSize);
		return {
			aead: this._aead,
			exporterSecret,
			key,
			baseNonce: new Uint8Array(baseNonce),
			seq: 0
		};
	}
	async _keyScheduleS(mode, sharedSecret, enc, params) {
		let res = await this._keySchedule(mode, sharedSecret, params);
		return res.key === void 0 ? new SenderExporterContextImpl(this._api, this._kdf, res.exporterSecret, enc) : new SenderContextImpl(this._api, this._kdf, res, enc);
	}
	async _keyScheduleR(mode, sharedSecret, params) {
		let res = await this._keySchedule(mode, sharedSecret, params);
		return res.key === void 0 ? new RecipientExporterContextImpl(this._api, this._kdf, res.exporterSecret) : new RecipientContextImpl(this._api, this._kdf, res);
	}
	_validateInputLength(params) {
		if (params.info !== void 0 && params.info.byteLength > 268435456) throw new InvalidParamError("Too long info");
		if (params.psk !== void 0) {
			if (params.psk.key.byteLength < 32) throw new InvalidParamError("PSK must have at least 32 bytes");
			if (params.psk.key.byteLength > 8192) throw new InvalidParamError("Too long psk.key");
			if (params.psk.id.byteLength > 8192) throw new InvalidParamError("Too long psk.id");
		}
	}
}, CipherSuite = class extends CipherSuiteNative {}, HkdfSha256 = class extends HkdfSha256Native {}, ALG_NAME = "X25519", PKCS8_ALG_ID_X25519 = new Uint8Array([
	48,
	46,
	2,
	1,
	0,
	48,
	5,
	6,
	3,
	43,
	101,
	110,
	4,
	34,
	4,
	32
]), BASE_POINT_X25519 = (() => {
	let p = new Uint8Array(32);
	return p[0] = 9, p;
})(), X25519 = class extends NativeAlgorithm {
	constructor(hkdf) {
		super(), Object.defineProperty(this, "_hkdf", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_alg", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_nPk", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_nSk", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_nDh", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), Object.defineProperty(this, "_pkcs8AlgId", {
			enumerable: !0,
			configurable: !0,
			writable: !0,
			value: void 0
		}), this._alg = { name: ALG_NAME }, this._hkdf = hkdf, this._nPk = 32, this._nSk = 32, this._nDh = 32, this._pkcs8AlgId = PKCS8_ALG_ID_X25519;
	}
	async serializePublicKey(key) {
		await this._setup();
		try {
			return await this._api.exportKey("raw", key);
		} catch (e) {
			throw new SerializeError(e);
		}
	}
	async deserializePublicKey(key) {
		await this._setup();
		try {
			return await this._importRawKey(toArrayBuffer(key), !0);
		} catch (e) {
			throw new DeserializeError(e);
		}
	}
	async serializePrivateKey(key) {
		await this._setup();
		try {
			let jwk = await this._api.exportKey("jwk", key);
			if (!("d" in jwk)) throw Error("Not private key");
			return base64UrlToBytes(jwk.d).buffer;
		} catch (e) {
			throw new SerializeError(e);
		}
	}
	async deserializePrivateKey(key) {
		await this._setup();
		try {
			return await this._importRawKey(toArrayBuffer(key), !1);
		} catch (e) {
			throw new DeserializeError(e);
		}
	}
	async importKey(format, key, isPublic) {
		await this._setup();
		try {
			if (format === "raw") return await this._importRawKey(key, isPublic);
			if (key instanceof ArrayBuffer) throw Error("Invalid jwk key format");
			return await this._importJWK(key, isPublic);
		} catch (e) {
			throw new DeserializeError(e);
		}
	}
	async generateKeyPair() {
		await this._setup();
		try {
			return await this._api.generateKey(ALG_NAME, !0, KEM_USAGES);
		} catch (e) {
			throw new NotSupportedError(e);
		}
	}
	async deriveKeyPair(ikm) {
		await this._setup();
		try {
			let rawIkm = toArrayBuffer(ikm), dkpPrk = await this._hkdf.labeledExtract(EMPTY$1, LABEL_DKP_PRK, new Uint8Array(rawIkm)), rawSk = await this._hkdf.labeledExpand(dkpPrk, LABEL_SK, EMPTY$1, this._nSk), rawSkBytes = new Uint8Array(rawSk), sk = await this._deserializePkcs8Key(rawSkBytes);
			return rawSkBytes.fill(0), {
				privateKey: sk,
				publicKey: await this.derivePublicKey(sk)
			};
		} catch (e) {
			throw new DeriveKeyPairError(e);
		}
	}
	async derivePublicKey(key) {
		await this._setup();
		try {
			let jwk = await this._api.exportKey("jwk", key);
			return delete jwk.d, delete jwk.key_ops, await this._api.importKey("jwk", jwk, this._alg, !0, []);
		} catch {
			try {
				let bp = await this._api.importKey("raw", BASE_POINT_X25519.buffer, this._alg, !0, []), bits = await this._api.deriveBits({
					name: ALG_NAME,
					public: bp
				}, key, this._nPk * 8);
				return await this._api.importKey("raw", bits, this._alg, !0, []);
			} catch (e) {
				throw new DeserializeError(e);
			}
		}
	}
	async dh(sk, pk) {
		await this._setup();
		try {
			return await this._api.deriveBits({
				name: ALG_NAME,
				public: pk
			}, sk, this._nDh * 8);
		} catch (e) {
			throw new SerializeError(e);
		}
	}
	async _importRawKey(key, isPublic) {
		if (isPublic && key.byteLength !== this._nPk) throw Error("Invalid public key for the ciphersuite");
		if (!isPublic && key.byteLength !== this._nSk) throw Error("Invalid private key for the ciphersuite");
		return isPublic ? await this._api.importKey("raw", key, this._alg, !0, []) : await this._deserializePkcs8Key(new Uint8Array(key));
	}
	async _importJWK(key, isPublic) {
		if (key.kty === void 0 || key.kty !== "OKP") throw Error(`Invalid kty: ${key.crv}`);
		if (key.crv === void 0 || key.crv !== ALG_NAME) throw Error(`Invalid crv: ${key.crv}`);
		if (isPublic) {
			if (key.d !== void 0) throw Error("Invalid key: `d` should not be set");
			return await this._api.importKey("jwk", key, this._alg, !0, []);
		}
		if (key.d === void 0) throw Error("Invalid key: `d` not found");
		return await this._api.importKey("jwk", key, this._alg, !0, KEM_USAGES);
	}
	async _deserializePkcs8Key(k) {
		let pkcs8Key = new Uint8Array(this._pkcs8AlgId.length + k.length);
		return pkcs8Key.set(this._pkcs8AlgId, 0), pkcs8Key.set(k, this._pkcs8AlgId.length), await this._api.importKey("pkcs8", pkcs8Key, this._alg, !0, KEM_USAGES);
	}
}, suite = new CipherSuite({
	kem: new class extends Dhkem {
		constructor() {
			let kdf = new HkdfSha256Native();
			super(KemId.DhkemX25519HkdfSha256, new X25519(kdf), kdf), Object.defineProperty(this, "id", {
				enumerable: !0,
				configurable: !0,
				writable: !0,
				value: KemId.DhkemX25519HkdfSha256
			}), Object.defineProperty(this, "secretSize", {
				enumerable: !0,
				configurable: !0,
				writable: !0,
				value: 32
			}), Object.defineProperty(this, "encSize", {
				enumerable: !0,
				configurable: !0,
				writable: !0,
				value: 32
			}), Object.defineProperty(this, "publicKeySize", {
				enumerable: !0,
				configurable: !0,
				writable: !0,
				value: 32
			}), Object.defineProperty(this, "privateKeySize", {
				enumerable: !0,
				configurable: !0,
				writable: !0,
				value: 32
			});
		}
	}(),
	kdf: new HkdfSha256(),
	aead: new Aes128Gcm()
});
async function seal(content, to, info, oneTime) {
	let key;
	try {
		key = await suite.kem.deserializePublicKey(concat$1(to));
	} catch {
		throw forged("a key to seal to must be a point of X25519, but is not; take no part.");
	}
	let given = oneTime === void 0 ? {} : { ekm: await pair(oneTime) }, context = await suite.createSenderContext({
		recipientPublicKey: key,
		info: concat$1(info),
		...given
	});
	return concat$1(new Uint8Array(context.enc), new Uint8Array(await context.seal(concat$1(content))));
}
async function pair(privateBytes) {
	let privateKey = await suite.kem.deserializePrivateKey(concat$1(privateBytes)), jwk = await crypto.subtle.exportKey("jwk", privateKey);
	return {
		privateKey,
		publicKey: await suite.kem.importKey("jwk", {
			kty: "OKP",
			crv: "X25519",
			x: jwk.x ?? ""
		}, !0)
	};
}
// src/protocol/report.ts
var ID_BYTES = 16, SHARE_HEADER = 540, NO_RECEIPT = new Uint8Array(64), NO_CHALLENGE = new Uint8Array(32);
async function reportId(token, manifest) {
	return (await sha256(utf8(`murmura report\0${token}`), manifest)).slice(0, ID_BYTES);
}
function journalMark(salt, head) {
	return sha256(utf8("murmura journal\0"), salt, fromHex(head));
}
async function sealedShare(share, given) {
	let { kind, manifest, report, admission } = share, key = fromHex(share.to), tail = Uint8Array.of(kind), info = (part) => concat$1(utf8(`murmura ${part}\0`), manifest, tail, report), payload = await seal(share.payload, key, info("payload"), given?.payload), pass = await seal(await passOf(share, share.proved?.commitment ?? await sha256(payload), admission), key, info("pass"), given?.pass);
	return concat$1(utf8("ms"), Uint8Array.of(3, kind), manifest, report, pass, payload);
}
async function passOf(share, named, admission) {
	let shown = admission?.shown ?? new Uint8Array(104), signature = admission ? await admission.key.sign("report", share.manifest, share.report, Uint8Array.of(share.kind), named) : new Uint8Array(64), challenge = share.proved?.challenge ?? NO_CHALLENGE;
	return concat$1(share.ticket, share.receipt, share.mark, shown, named, challenge, signature);
}
function letter(parts) {
	let { manifest, report, ticket, mark, payload } = parts;
	return concat$1(utf8("ml"), Uint8Array.of(3, 0), manifest, report, ticket, mark, payload);
}
// src/device/records.ts
var Records = class {
	storage;
	constructor(storage) {
		this.storage = storage;
	}
	identity() {
		return this.storage.read("identity");
	}
	async memory() {
		return await this.storage.read("memory") ?? freshMemory(START);
	}
	async keep(memory, more = {}) {
		return await this.storage.write({
			...more,
			memory
		}), memory;
	}
	async permission() {
		return {
			...NO_CONSENT,
			...await this.storage.read("permission")
		};
	}
	async likes() {
		return await this.storage.read("likes") ?? [];
	}
	journal() {
		return this.storage.list("journal/");
	}
	receipts() {
		return this.storage.list("receipts/");
	}
	async note(memory, entry, items) {
		let lines = await this.journal();
		if (await verifyJournal(lines, memory.lines, memory.head), lines.at(-1)?.entry.manifest === entry.manifest) return this.keep(memory);
		let hash = await link(memory.head, entry), line = {
			entry,
			hash,
			items
		};
		return this.keep({
			...memory,
			lines: memory.lines + 1,
			head: hash
		}, { [`journal/${number(memory.lines)}`]: line });
	}
	async keepReceipt(receipt, memory) {
		await this.keep(memory, { [`receipts/${number(memory.lines)}`]: receipt });
	}
};
async function checkReceipt(receipt, terms) {
	let keys = terms.readable ? [terms.fields.coordinator] : terms.aggregators.map((one) => one.key), mark = await journalMark(fromHex(receipt.salt), receipt.head), content = concat$1(fromHex(receipt.manifest), fromHex(receipt.report), mark);
	for (let [place, key] of keys.entries()) await checkSignature(key, "receipt", place === 0 ? concat$1(content, fromHex(receipt.proved ?? "")) : content, fromHex(receipt.signatures[place] ?? ""));
}
function number(n) {
	return String(n).padStart(9, "0");
}
// src/device/ledger.ts
async function readLedger(records, terms) {
	let [memory, lines, receipts, traffic] = await Promise.all([
		records.memory(),
		records.journal(),
		records.receipts(),
		records.storage.list("traffic/")
	]);
	await verifyJournal(lines, memory.lines, memory.head);
	let signed = new Set((await Promise.all(terms ? receipts.map((one) => countersigned(one, terms)) : [])).flat()), entries = lines.map(({ entry, hash, items }) => {
		let { delta: _, ...shown } = entry;
		return {
			...shown,
			items,
			hash,
			countersigned: signed.has(hash)
		};
	}), sum = (of) => traffic.reduce((total, one) => total + of(one), 0);
	return {
		entries,
		traffic: traffic.sort((a, b) => a.id - b.id),
		bytesUp: sum((one) => one.bytes),
		bytesDown: sum((one) => one.received),
		head: memory.head
	};
}
async function countersigned(receipt, terms) {
	try {
		return await checkReceipt(receipt, terms), [receipt.head];
	} catch {
		return [];
	}
}
// src/message/float16.ts
var table = null;
function float16Table() {
	return table ??= Float32Array.from({ length: 65536 }, (_, bits) => single(bits)), table;
}
function single(bits) {
	let sign = bits & 32768 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
	return exponent === 0 ? sign * fraction * 2 ** -24 : exponent === 31 ? fraction ? NaN : sign * Infinity : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
// src/message/codec.ts
var VERSION = 2, HEADER = 8, HASH = 32, LARGEST_EXPONENT = 121;
async function decodeModel(content, publishes, listed) {
	let reader = await Reader.of(content, publishes, "mu"), model = {};
	if (content.length !== modelBytes(publishes, listed.length)) throw malformed(`a model must have ${modelBytes(publishes, listed.length)} bytes, but has ${content.length}.`);
	for (let one of publishes.tables) {
		let here = one.space === "item" ? listed : null, rows = here?.length ?? one.rows;
		if (reader.count(one, rows) !== rows) throw malformed(`the model's '${one.name}' must have ${rows} rows.`);
		let values = reader.values(one, rows);
		model[one.name] = here ? spread(one, values, here) : values;
	}
	return reader.finish(), model;
}
async function applyChanges(base, changes, publishes, listed) {
	let reader = await Reader.of(changes, publishes, "mc"), named = await sha256(base), wanted = reader.take(HASH, "base");
	if (toHex(named) !== toHex(wanted)) throw malformed(`changes must be of the model ${toHex(named).slice(0, 16)} that is here, but are of another.`);
	let whole = concat$1(base), places = new Map(listed.map((item, place) => [item, place])), at = HEADER;
	for (let one of publishes.tables) {
		let rows = one.space === "item" ? listed.length : one.rows, index = reader.index(one, reader.count(one, rows));
		if (!index.every((row, n) => n === 0 || row > index[n - 1]) || one.space === "item" && !index.every((row) => places.has(row))) throw malformed(`the changed rows of '${one.name}' must be on offer and ascend, but do not.`);
		at += 4, one.dtype === "int8" && rescale(whole, at++, reader.exponent(one), rows * one.width);
		for (let row of index) {
			let place = one.space === "item" ? places.get(row) : row;
			whole.set(reader.take(rowBytes(one), `values of '${one.name}'`), at + place * rowBytes(one));
		}
		at += rows * rowBytes(one);
	}
	return reader.finish(), whole;
}
function rescale(whole, at, exponent, length) {
	let numbers = new Int8Array(whole.buffer, at, 1 + length), factor = 2 ** (numbers[0] - exponent);
	numbers[0] = exponent;
	for (let place = 1; place <= length && factor !== 1; place++) numbers[place] = numbers[place] * factor;
}
var Reader = class Reader {
	content;
	at = HEADER;
	seen;
	constructor(content) {
		this.content = content, this.seen = view(content);
	}
	static async of(content, declared, magic) {
		let expected = await header(declared, magic);
		if (content.length < HEADER || toHex(content.subarray(0, HEADER)) !== toHex(expected)) throw malformed(`a message must begin with '${magic}', version ${VERSION} and the mark of its declaration, but does not; both sides need the same configuration.`);
		return new Reader(content);
	}
	take(length, what) {
		if (this.at + length > this.content.length) throw malformed(`a message must be at least ${this.at + length} bytes long to hold its ${what}, but is not.`);
		return this.at += length, this.content.subarray(this.at - length, this.at);
	}
	count(one, most) {
		this.take(4, `number of rows of '${one.name}'`);
		let count = this.seen.getUint32(this.at - 4, !0);
		if (count > most) throw malformed(`'${one.name}' must have at most ${most} rows, but the message claims ${count}.`);
		return count;
	}
	index(one, count) {
		let start = this.at;
		this.take(4 * count, `row numbers of '${one.name}'`);
		let rows = Array.from({ length: count }, (_, n) => this.seen.getUint32(start + 4 * n, !0));
		if (rows.some((row) => row >= one.rows)) throw malformed(`the row numbers of '${one.name}' must stay below ${one.rows}, but one does not.`);
		return Int32Array.from(rows);
	}
	double() {
		return this.take(8, "scalars"), this.seen.getFloat64(this.at - 8, !0);
	}
	exponent(one) {
		this.take(1, `exponent of '${one.name}'`);
		let exponent = this.seen.getInt8(this.at - 1);
		if (exponent > LARGEST_EXPONENT) throw malformed(`the exponent of '${one.name}' must be at most ${LARGEST_EXPONENT}, but is ${exponent}.`);
		return exponent;
	}
	values(one, count) {
		let scale = one.dtype === "int8" ? 2 ** this.exponent(one) : 1, start = this.at;
		return this.take(count * rowBytes(one), `values of '${one.name}'`), readValues(one, this.seen, start, count * one.width, scale);
	}
	finish() {
		if (this.at !== this.content.length) throw malformed(`a message must end after ${this.at} bytes, but has ${this.content.length}.`);
	}
};
function readValues(one, seen, start, length, scale) {
	let values = emptyValues(one.dtype, length);
	switch (one.dtype) {
		case "int8":
			for (let n = 0; n < length; n++) values[n] = seen.getInt8(start + n) * scale;
			return values;
		case "float16": {
			let single = float16Table();
			for (let n = 0; n < length; n++) values[n] = single[seen.getUint16(start + 2 * n, !0)];
			return values;
		}
		case "float32":
			for (let n = 0; n < length; n++) values[n] = seen.getFloat32(start + 4 * n, !0);
			return values;
		case "float64":
			for (let n = 0; n < length; n++) values[n] = seen.getFloat64(start + 8 * n, !0);
			return values;
		case "uint32":
			for (let n = 0; n < length; n++) values[n] = seen.getUint32(start + 4 * n, !0);
			return values;
		case "uint64": throw malformed(`'${one.name}' must travel in shares, which have no tables.`);
	}
}
function spread(one, values, listed) {
	let whole = emptyValues(one.dtype, one.rows * one.width);
	return listed.forEach((item, place) => {
		whole.set(values.subarray(place * one.width, (place + 1) * one.width), item * one.width);
	}), whole;
}
async function header(declared, magic) {
	let start = Uint8Array.of(magic.charCodeAt(0), magic.charCodeAt(1), VERSION, declared.tables.length);
	return concat$1(start, u32(await mark(declared)));
}
// src/protocol/description.ts
var END = 2 ** 32;
function readDescription(content) {
	let read = object(content), { items, listed, clients, interactions, people, counts } = read;
	if (read.task !== void 0) throw malformed("this page recommends items, but the federation classifies samples.");
	let labels = ["string", "number"].some((kind) => Array.isArray(items) && items.every((one) => typeof one === kind)), whole = (n) => Number.isInteger(n) && n >= 0 && n < END;
	if (!labels || !Array.isArray(listed) || ![
		clients,
		interactions,
		people
	].every(whole) || people === 0) throw malformed("a description must have the fields of docs/wire.md, but has not.");
	let n = items.length;
	if (!listed.every((item, place) => whole(item) && item < n && (place === 0 || item > listed[place - 1]))) throw malformed("the listed items must be numbers of items, ascending, but are not.");
	let info = {
		items: n,
		listed,
		clients,
		interactions,
		people,
		counts: counts === null ? null : checkedCounts(counts, n)
	}, features = featuresNamed(read.features);
	return {
		labels: items,
		info: features ? {
			...info,
			featureCount: features.count
		} : info,
		features
	};
}
function readCounts(content, items) {
	let read = unpackArrays(content).counts;
	if (!read || read.type !== "<u4" || read.shape.length !== 1 || read.shape[0] !== items) throw malformed("the counts must be one uint32 for every item, but are something else.");
	return Array.from(read.values);
}
function object(content) {
	try {
		let read = JSON.parse(text$1(content));
		if (typeof read == "object" && read && !Array.isArray(read)) return read;
	} catch {}
	throw malformed("a description must be a JSON object, but is something else.");
}
function checkedCounts(counts, items) {
	if (!(Array.isArray(counts) && counts.length === items && counts.every((n) => Number.isInteger(n) && n >= 0)) || counts.reduce((a, b) => a + b, 0) >= END) throw malformed("counts of items must be from 0 and add up to less than 2**32, but do not.");
	return counts;
}
function featuresNamed(features) {
	if (features === void 0) return null;
	let [count, hash] = Array.isArray(features) ? features : [];
	if (!Number.isInteger(count) || typeof hash != "string" || !/^[0-9a-f]{64}$/.test(hash)) throw malformed("a description must name its features by number and hash, but does not.");
	return {
		count,
		hash
	};
}
// src/device/downloads.ts
var ARRAYS_BYTES = 1024, Downloads = class {
	url;
	send;
	terms;
	storage;
	described = null;
	counted = null;
	held = null;
	read = null;
	constructor(url, send, terms, storage = null) {
		this.url = url, this.send = send, this.terms = terms, this.storage = storage;
	}
	async description() {
		if (!this.described) {
			let { description, bytes } = this.terms.fields.catalogue, read = readDescription(await this.kept("description", description, Math.min(DOWNLOAD_BYTES, bytes), "items"));
			if (methodOf(this.terms.fields).releasesCounts && read.info.counts) throw malformed("the description of a method that sums up the counts of items must have none, but has some.");
			this.described = await this.withFeatures(read);
		}
		return this.described;
	}
	async withFeatures(read) {
		if (!methodOf(this.terms.fields).usesFeatures) return read;
		if (!read.features) throw malformed(`${this.terms.fields.method} needs item features, but the description names none.`);
		let most = Math.min(DOWNLOAD_BYTES, this.terms.fields.catalogue.features_bytes), { hash, count } = read.features, features = await readFeatures(await this.kept("features", hash, most, "item features"));
		if (features.start.length !== read.info.items + 1 || features.labels.length !== count) throw malformed("the item features must be those of the items, but are others.");
		return {
			...read,
			info: {
				...read.info,
				features
			}
		};
	}
	async info(wanted) {
		let { info } = await this.description(), method = methodOf(this.terms.fields), phase = method.phases(info).find((one) => one.name === wanted.phase);
		if (wanted.counts && !(method.releasesCounts && phase?.follows)) throw forged(`counts of items must come from a sum that the phase follows, but '${wanted.phase}' follows none.`);
		return wanted.counts ? this.withCounts(wanted.counts.hash, wanted.counts.bytes) : info;
	}
	async model(wanted, info) {
		let length = modelBytes(this.downloads(info), info.listed.length);
		if (wanted.model.bytes !== length) throw malformed(`the model of a round must have ${length} bytes, but says others.`);
		return checkShapes(methodOf(this.terms.fields).publishes(info), wanted), this.hold(wanted.model.hash, info, wanted.counts?.hash ?? "", wanted.round, wanted);
	}
	async newest(logged, round) {
		let { info } = await this.description(), known = logged.counts ? await this.withCounts(logged.counts, DOWNLOAD_BYTES) : info;
		await this.hold(logged.model, known, logged.counts, round, null);
	}
	async offline() {
		let kept = await this.heldModel();
		if (!kept) return null;
		let { info } = await this.description(), known = kept.counts ? await this.withCounts(kept.counts, DOWNLOAD_BYTES) : info;
		return {
			kept,
			info: known,
			model: await this.decoded(kept, known)
		};
	}
	async fetch(name, length, purpose) {
		let content = await this.get(name, length, purpose);
		if (await sha256Hex(content) !== name) throw forged("what is published under a hash must have it, but has another; take no part.");
		return content;
	}
	async withCounts(name, length) {
		if (this.counted?.hash !== name) {
			let { info } = await this.description(), content = await this.kept("counts", name, Math.min(ARRAYS_BYTES + 4 * info.items, length), "counts");
			this.counted = {
				hash: name,
				info: {
					...info,
					counts: readCounts(content, info.items)
				}
			};
		}
		return this.counted.info;
	}
	async hold(name, info, counts, round, wanted) {
		let before = await this.heldModel(), same = before?.hash === name, kept = {
			hash: name,
			content: same ? before.content : await this.fetchModel(name, info, wanted, before),
			counts,
			round: same ? Math.max(before.round, round) : round
		}, model = await this.decoded(kept, info), read = await this.storage?.read("public/counts");
		return same || await this.storage?.write({
			"public/model": kept,
			"public/counts of the model": read
		}), this.held = kept, model;
	}
	async fetchModel(name, info, wanted, before) {
		let spec = this.downloads(info), whole = modelBytes(spec, info.listed.length);
		if (whole > 67108864) throw malformed(`a model must have at most ${DOWNLOAD_BYTES} bytes, but has ${whole}.`);
		if (!before) return this.fetch(name, whole, "model");
		let short = wanted?.changes.find((one) => one.base === before.hash && one.bytes < whole), content = short ? await this.fetch(short.hash, short.bytes, "model changes") : await this.get(`${name}/since/${before.hash}`, whole, "model changes");
		if (await sha256Hex(content) === name) return content;
		let led = await applyChanges(before.content, content, spec, info.listed);
		if (await sha256Hex(led) !== name) throw malformed("what changed must lead to the model of the round, but leads elsewhere.");
		return led;
	}
	async decoded(kept, info) {
		if (this.read?.hash === kept.hash) return this.read.model;
		let method = methodOf(this.terms.fields), model = await decodeModel(kept.content, this.downloads(info), info.listed), counts = method.releasesCounts ? method.publicCounts(model) : null;
		if (method.releasesCounts && JSON.stringify(counts) !== JSON.stringify(info.counts)) throw forged("the counts of items must be those the model tells, but are not.");
		return this.read = {
			hash: kept.hash,
			model
		}, model;
	}
	downloads(info) {
		return narrowed(methodOf(this.terms.fields).publishes(info), this.terms.channel.download);
	}
	async heldModel() {
		return this.held ??= await this.storage?.read("public/model") ?? null, this.held;
	}
	async kept(kind, name, length, purpose) {
		for (let slot of [kind, `${kind} of the model`]) {
			let known = await this.storage?.read(`public/${slot}`);
			if (known?.hash === name) return known.content;
		}
		let content = await this.fetch(name, length, purpose);
		return await this.storage?.write({ [`public/${kind}`]: {
			hash: name,
			content
		} }), content;
	}
	async get(path, length, purpose) {
		let url = `${this.url}/m/${path}`;
		return (await ask(this.send, {
			method: "GET",
			url,
			purpose,
			largest: length
		})).body;
	}
};
function checkShapes(publishes, wanted) {
	for (let { name, rows, width } of publishes.tables) if (wanted.shapes[name]?.reduce((all, n) => all * n, 1) !== rows * width) throw malformed(`'${name}' must have ${rows} rows of ${width}, but has others.`);
}
// src/channel/shares.ts
async function expand(seed, ring) {
	let key = await crypto.subtle.importKey("raw", concat$1(seed), "AES-CTR", !1, ["encrypt"]), zeros = new Uint8Array(ring.messageBytes), stream = await crypto.subtle.encrypt({
		name: "AES-CTR",
		counter: new Uint8Array(16),
		length: 128
	}, key, zeros);
	return ring.unpack(new Uint8Array(stream));
}
async function otherShare(vector, seed, ring) {
	return ring.less(vector, await expand(seed, ring));
}
// src/device/policy.ts
function objection(own, terms, memory, allowed, manifest) {
	let least = Math.min(terms.channel.minimum_cohort, manifest.called);
	return least < own.minimum ? `the round may release a sum of ${least} devices, but this one wants at least ${own.minimum}` : manifest.hold + manifest.spread >= manifest.deadline - manifest.opened ? "the round asks to be answered after it is over" : terms.readable && !own.readable ? "the server can read each update, and this device does not allow that" : isExact(terms) && !own.exact ? "everybody can read sums without noise, and this device does not allow that" : manifest.answers ? "the round brings an answer of one's own, which this page does not know" : ofNoise(terms, memory, allowed, manifest);
}
function ofNoise(terms, memory, allowed, manifest) {
	let { noise } = terms.fields;
	if (allowed.epsilon === null) return null;
	if (!isNoisy(noise)) return "no noise is added to the sums, and this device asks for a bound on what they reveal";
	let after = epsilonSpent(memory.pending?.manifest === manifest.name ? memory : spending(memory, noise.multipliers[manifest.phase] ?? 0), noise.delta);
	return after <= allowed.epsilon ? null : `this upload would bring epsilon to ${after.toPrecision(3)}, but ${allowed.epsilon} is allowed in all`;
}
// src/device/places.ts
var MOST_PLACES = 1 << 24;
async function register(send, url, terms, admission, token) {
	let body = await wanted$1(terms, admission, token), reply = jsonObject(await ask(send, {
		method: "POST",
		url: `${url}/devices`,
		body,
		purpose: "join"
	})), { slot } = reply;
	if (reply.token !== token || !Number.isInteger(slot) || slot < 0 || slot >= MOST_PLACES) throw malformed("a place must have this device's token and a number, but has not.");
	return slot;
}
async function giveUp(send, url, token) {
	await ask(send, {
		method: "DELETE",
		url: `${url}/devices/me`,
		headers: bearer(token),
		purpose: "leave"
	});
}
async function wanted$1(terms, admission, token) {
	if (terms.fields.admission === "open") return utf8(JSON.stringify({ token }));
	if (!admission) throw new RefusedError("unauthorised", "this federation is for invited devices; open the page by an invitation.");
	let proof = toHex(await joinProof(admission, terms.fields.federation, token));
	return utf8(JSON.stringify({
		token,
		admission: toHex(admission.shown),
		proof
	}));
}
// src/device/traffic.ts
var PAUSED = "its owner has paused this device, so nothing more leaves.";
function declared(send, storage, clock) {
	return async (request) => {
		let { name, entry } = await begun(request, storage, clock);
		try {
			let reply = await send(request), state = reply.status >= 400 ? "refused" : "answered";
			return await storage.write({ [name]: {
				...entry,
				state,
				received: entry.received + reply.body.length
			} }), reply;
		} catch (error) {
			let state = error instanceof RefusedError ? "refused" : "no answer";
			throw await storage.write({ [name]: {
				...entry,
				state
			} }), error;
		}
	};
}
async function begun(request, storage, clock) {
	let { method, url, purpose, body } = request, hash = body ? await sha256Hex(body) : "", address = `traffic/${method} ${url}`, changes = await storage.change([
		"permission",
		"requests",
		address
	], ([permission, requests, line]) => {
		if (method !== "GET" && permission?.paused) throw new DeviceError(PAUSED);
		let known = body ? void 0 : line, id = known?.id ?? (requests ?? 0) + 1, entry = {
			id,
			time: new Date(1e3 * clock()).toISOString(),
			method,
			url,
			purpose,
			round: request.round ?? null,
			bytes: body?.length ?? 0,
			hash,
			times: (known?.times ?? 0) + 1,
			received: known?.received ?? 0,
			state: "leaving"
		};
		return {
			[body ? `traffic/${String(id).padStart(9, "0")}` : address]: entry,
			...known ? {} : { requests: id }
		};
	}), [name, entry] = Object.entries(changes)[0];
	return {
		name,
		entry
	};
}
// src/device/proved_half.ts
var ProvedHalf = class ProvedHalf {
	claim;
	circuit;
	follows;
	vector;
	secret;
	trainer;
	first;
	constructor(claim, circuit, follows, vector, secret, trainer, first) {
		this.claim = claim, this.circuit = circuit, this.follows = follows, this.vector = vector, this.secret = secret, this.trainer = trainer, this.first = first;
	}
	static async of(phase, claim, vector, secret, trainer) {
		let circuit = circuitOf(claim), follows = phase.follows !== "" && circuit.linked > 0, first = await trainer.commit({
			claim,
			vector,
			secret
		});
		return new ProvedHalf(claim, circuit, follows, vector, secret, trainer, first);
	}
	get commitment() {
		return this.first.slice(32);
	}
	get length() {
		return payloadBytes(this.circuit, this.follows);
	}
	read(answer) {
		let needed = 96 + checkBytes(this.circuit, this.follows);
		if (answer.length !== needed) throw malformed(`an answer to a seed must have ${needed} bytes, but has ${answer.length}; take no part.`);
		let challenge = answer.slice(64, 96);
		return {
			receipt: answer.slice(0, 64),
			covered: concat$1(this.commitment, challenge),
			challenge,
			check: answer.slice(96)
		};
	}
	second({ challenge, check }) {
		let { claim, vector, secret } = this;
		return this.trainer.prove({
			claim,
			vector,
			secret,
			challenge,
			check
		});
	}
	async linkedAfter(before, manifest, phase) {
		if (!this.circuit.linked) return before;
		let digest = await sha256Hex(packed(this.vector.slice(0, this.circuit.linked))), here = {
			phase: phase.follows || phase.name,
			window: manifest.window,
			digest
		}, same = before?.phase === here.phase && before.window === here.window && before.digest === here.digest;
		if (phase.follows && !same) throw new DeviceError(`what is shared must be what phase '${phase.follows}' counted, but it has changed since; this device sits the exchange out.`);
		return here;
	}
};
// src/device/upload.ts
async function preparedUpload(terms, url, phase, { vector, packed, claim }, seed, trainer) {
	let [first, second] = terms.aggregators;
	if (!first || !second) {
		let length = packed.length + 148;
		return {
			messages: [{
				url: `${url}/letters`,
				purpose: "letter",
				payload: packed,
				aggregator: null,
				length
			}],
			proved: null
		};
	}
	let share = (purpose, to, payload) => ({
		url: `${to.url}/reports`,
		purpose,
		payload,
		aggregator: to,
		length: payload.length + SHARE_HEADER
	});
	if (claim && vector instanceof BigUint64Array) {
		let proved = await ProvedHalf.of(phase, claim, vector, seed, trainer), empty = share("vector share", second, new Uint8Array());
		return {
			messages: [share("seed share", first, proved.first), {
				...empty,
				length: empty.length + proved.length
			}],
			proved
		};
	}
	let ring = new Ring(terms.channel.ring, vector.length), other = ring.pack(await otherShare(vector, seed, ring));
	return {
		messages: [share("seed share", first, seed), share("vector share", second, other)],
		proved: null
	};
}
async function sentInOrder({ messages, proved }, terms, by, post) {
	let signatures = [], answer = null;
	for (let [kind, message] of messages.entries()) {
		let payload = answer && proved ? await proved.second(answer) : message.payload, { aggregator } = message, said = await post(message, aggregator ? await sealedShare({
			...by,
			kind,
			receipt: signatures.at(-1) ?? NO_RECEIPT,
			payload,
			proved: answer && {
				commitment: proved.commitment,
				challenge: answer.challenge
			},
			to: aggregator.sealing_key
		}) : letter({
			...by,
			payload
		})), first = proved && kind === 0 ? proved.read(said) : null, signed = first?.receipt ?? said, covered = concat$1(by.manifest, by.report, by.mark, first?.covered ?? new Uint8Array());
		await checkSignature(aggregator?.key ?? terms.fields.coordinator, "receipt", covered, signed), signatures.push(signed), answer ??= first;
	}
	return {
		signatures,
		proved: answer?.covered ?? new Uint8Array()
	};
}
function digestOf(messages) {
	return sha256Hex(concat$1(...messages.map((one) => one.payload)));
}
// src/device/rounds.ts
var RETRY = .5, SALT_BYTES = 32, Rounds = class {
	identity;
	terms;
	admission;
	records;
	downloads;
	around;
	etag = "";
	uploading = new AbortController();
	stop = this.uploading.signal;
	manifest = null;
	constructor(identity, terms, admission, records, downloads, around) {
		this.identity = identity, this.terms = terms, this.admission = admission, this.records = records, this.downloads = downloads, this.around = around;
	}
	async visit(stop = new AbortController().signal) {
		if (this.stop = stop, (await this.records.permission()).paused) return outcome("idle", PAUSED);
		let headers = this.etag ? { "if-none-match": this.etag } : {}, url = `${this.identity.url}/round`, reply;
		try {
			reply = await ask(this.stoppable, {
				method: "GET",
				url,
				purpose: "round",
				headers,
				largest: LARGEST_ENVELOPE
			});
		} catch (error) {
			let code = error instanceof RefusedError ? error.code : "";
			if (code === "paused" || code === "finished") return outcome(code === "paused" ? "idle" : "finished");
			throw error;
		}
		return reply.status === 304 ? outcome("idle") : this.takePart(reply);
	}
	cancel() {
		this.uploading.abort(), this.uploading = new AbortController();
	}
	async takePart(reply) {
		let memory = await this.records.memory(), { clock } = this.around, signed = await verified(reply.body, this.terms, memory.log, this.stoppable, this.identity.url), { manifest } = signed;
		this.manifest = manifest;
		let made = outcome("idle");
		if (isNew(manifest, memory, this.terms, clock())) {
			let grown = await this.records.keep({
				...memory,
				log: signed.proof.head.seen
			}), allowed = await this.records.permission(), why = objection(this.identity, this.terms, grown, allowed, manifest);
			if (why !== null) return this.done(manifest, "declined", why);
			made = await this.answer(manifest, allowed);
		}
		return this.etag = reply.etag, made;
	}
	async answer(manifest, allowed) {
		let before = await this.records.memory(), { info: described } = await this.downloads.description(), asked = phaseOf(this.terms.fields, manifest.phase, described);
		if (checkPhase(asked, this.terms, described.clients), !(asked.asks === "training" ? allowed.train : allowed.statistics)) return this.done(manifest, "declined", `no consent to ${asked.asks}`);
		let not = unasked(manifest, asked, before, this.terms, this.identity.place ?? -1);
		if (not) return this.done(manifest, not.kind, not.why);
		let info = await this.downloads.info(manifest), phase = phaseOf(this.terms.fields, manifest.phase, info);
		try {
			return await this.report(manifest, info, phase, allowed, before);
		} catch (error) {
			return this.notSent(error, manifest, before);
		}
	}
	async report(manifest, info, phase, allowed, before) {
		let { entropy, clock } = this.around, report = await reportId(this.identity.token, manifest.hash), ticket = await this.ticket(manifest, report, allowed), draw = new DataView(entropy(4).buffer).getUint32(0, !0) / 2 ** 32, work = {
			manifest,
			info,
			phase,
			ticket,
			report,
			allowed,
			sendAt: clock() + manifest.hold + manifest.spread * draw
		}, again = before.pending?.manifest === manifest.name ? before.pending : null, seed = again ? fromHex(again.seed) : entropy(32), salt = again ? fromHex(again.salt) : entropy(SALT_BYTES), trained = await this.train(work, before, seed), digest = await digestOf(trained.prepared.messages);
		if (again && again.digest !== digest) throw new RefusedError("duplicate", "what would be sent is not what was prepared before the crash.");
		return this.upload(work, trained, {
			manifest: manifest.name,
			seed: toHex(seed),
			salt: toHex(salt),
			digest
		}, !!again);
	}
	async notSent(error, manifest, before) {
		if (error instanceof UnreachableError || !(error instanceof DeviceError)) throw error;
		return error instanceof NoReceiptError ? this.done(manifest, "refused", error.message) : error instanceof RefusedError ? (error.code !== "left-out" && await this.records.keep({
			...await this.records.memory(),
			sent: before.sent
		}), this.done(manifest, error.code === "not-called" ? "not-called" : "refused", error.message)) : this.done(manifest, "declined", error.message);
	}
	async done(manifest, kind, why) {
		return await this.records.keep(dealtWith(await this.records.memory(), manifest.serial, manifest.name)), {
			...outcome(kind),
			round: manifest.round,
			phase: manifest.phase,
			why
		};
	}
	async ticket(manifest, report, allowed) {
		let { url, token } = this.identity, body = concat$1(manifest.hash, report), request = {
			method: "POST",
			url: `${url}/tickets`,
			body,
			purpose: "ticket",
			round: manifest.round
		};
		try {
			return (await this.patiently(request, manifest, allowed)).body;
		} catch (error) {
			if (!(error instanceof RefusedError) || error.code !== "unauthorised") throw error;
		}
		await this.requireConsent(allowed);
		let place = await register(this.stoppable, url, this.terms, this.admission, token);
		return this.identity = {
			...this.identity,
			place
		}, await this.records.storage.write({ identity: this.identity }), (await this.patiently(request, manifest, allowed)).body;
	}
	async train(work, memory, seed) {
		let { manifest, info, phase, allowed } = work, { secret, url } = this.identity, model = phase.fetchesModel ? await this.downloads.model(manifest, info) : {}, { history, joined } = heldHistory(await this.records.likes(), info, memory.joined, allowed, secret), result = await this.around.trainer.train({
			of: {
				method: this.terms.fields.method,
				settings: this.terms.fields.settings
			},
			info,
			phase: phase.name,
			round: manifest.round,
			model,
			state: memory.state,
			history,
			secret,
			channel: this.terms.channel,
			largest: manifest.largest,
			multiplier: this.terms.fields.noise.multipliers[phase.name] ?? 0
		}), shown = Array.from(history.item).filter((_, row) => result.shown[row]), sent = [...new Set([...memory.sent, ...shown])].sort((a, b) => a - b), ever = new Set(sent), disclosed = history.item.length ? history.item.filter((item) => ever.has(item)).length / history.item.length : 0, prepared = await preparedUpload(this.terms, url, phase, result, seed, this.around.trainer), before = memory.linked ?? null;
		return {
			result,
			history,
			joined,
			sent,
			disclosed,
			prepared,
			linked: prepared.proved ? await prepared.proved.linkedAfter(before, manifest, phase) : before
		};
	}
	async upload(work, trained, pending, again) {
		let { manifest, phase } = work, { noise } = this.terms.fields, multiplier = noise.multipliers[phase.name] ?? 0, memory = await this.records.memory();
		if (!again) {
			let { joined, sent, linked } = trained;
			memory = spending({
				...memory,
				pending,
				joined,
				sent,
				linked
			}, multiplier);
			let window = phase.repeat === null ? -1 : manifest.window, counts = phase.repeat !== null || isNoisy(noise);
			memory = await this.records.keep(counts ? answering(memory, phase.name, window) : memory);
		}
		await this.wait(work);
		let bytes = trained.prepared.messages.reduce((sum, one) => sum + one.length, 0), { disclosed, result } = trained, spent = isNoisy(noise) ? epsilonSpent(memory, noise.delta) : Infinity, entry = {
			time: new Date(1e3 * this.around.clock()).toISOString().replace(/\.\d+Z$/, "+00:00"),
			round: manifest.round,
			phase: phase.name,
			manifest: manifest.name,
			bytes,
			rows: result.rows,
			disclosed,
			epsilon: Number.isFinite(spent) ? spent : null,
			delta: isNoisy(noise) ? noise.delta : null
		}, byItem = phase.sends.tables.some((one) => one.space === "item"), { item, consent } = trained.history, rows = Array.from(item).filter((_, row) => byItem ? result.shown[row] : consent[row] > 0), items = result.update.own ? Array.from(result.update.own) : rows;
		memory = await this.records.note(exchanging(memory, manifest.round, phase.name), entry, items);
		let mark = await journalMark(fromHex(pending.salt), memory.head), { signatures, proved } = await this.send(work, trained.prepared, mark), learned = dealtWith({
			...await this.records.memory(),
			state: result.state
		}, manifest.serial, manifest.name);
		return await this.records.keepReceipt({
			terms: manifest.terms,
			manifest: manifest.name,
			report: toHex(work.report),
			head: memory.head,
			salt: pending.salt,
			signatures: signatures.map(toHex),
			proved: toHex(proved)
		}, learned), {
			kind: "sent",
			round: manifest.round,
			phase: phase.name,
			why: "",
			bytes,
			disclosed,
			epsilon: entry.epsilon
		};
	}
	async wait(work) {
		let { clock, sleep } = this.around, { hold } = work.manifest, { sendAt } = work, late = clock() - sendAt;
		hold > 0 && late > 0 && (sendAt += Math.ceil(late / hold) * hold);
		for (let left = sendAt - clock(); left > 0; left = sendAt - clock()) await sleep(Math.min(left, 1)), await this.requireConsent(work.allowed);
		await this.requireConsent(work.allowed);
	}
	async send(work, prepared, mark) {
		let { manifest, report, ticket, allowed } = work, by = {
			manifest: manifest.hash,
			report,
			ticket,
			mark,
			admission: this.admission
		};
		return sentInOrder(prepared, this.terms, by, async ({ url, purpose }, body) => {
			let request = {
				method: "POST",
				url,
				body,
				purpose,
				round: manifest.round
			};
			return (await this.patiently(request, manifest, allowed)).body;
		});
	}
	async requireConsent(allowed) {
		let now = await this.records.permission();
		if (now.paused || this.stop.aborted) throw new DeviceError(PAUSED);
		if (JSON.stringify(now) !== JSON.stringify(allowed)) throw new DeviceError("what its owner allows was changed or taken back, so nothing more leaves.");
	}
	stoppable = (request) => this.around.send({
		...request,
		signal: AbortSignal.any([this.uploading.signal, this.stop])
	});
	async patiently(request, manifest, allowed) {
		let { clock, sleep } = this.around, until = clock() + (manifest.deadline - manifest.opened), headers = request.url.startsWith(`${this.identity.url}/`) ? bearer(this.identity.token) : {};
		for (let unanswered = !1;; await sleep(RETRY)) {
			await this.requireConsent(allowed);
			try {
				return await ask(this.stoppable, {
					...request,
					headers
				});
			} catch (error) {
				if (error instanceof UnreachableError) unanswered = request.purpose !== "ticket";
				else if (error instanceof RefusedError && !["rate", "full"].includes(error.code)) throw !unanswered || error.code === "left-out" ? error : new NoReceiptError(error.code, `${error.message} An earlier attempt got no answer.`);
				else if (!(error instanceof RefusedError)) throw error;
			}
			if (clock() > until) throw new NoReceiptError("late", `${request.url} did not answer before the round was over.`);
		}
	}
};
// src/device/pinned.ts
async function pinned(identity, records, around) {
	let terms = await FederationTerms.decode(identity.terms), downloads = new Downloads(identity.url, around.send, terms, records.storage), { labels, info } = await downloads.description();
	return {
		identity,
		terms,
		downloads,
		rounds: new Rounds(identity, terms, identity.admission ? await ownAdmission(identity.admission) : null, records, downloads, around),
		labels,
		listed: info.listed
	};
}
async function refreshModel(of, records, send) {
	let { terms, downloads } = of, { url } = of.identity, { log } = await records.memory(), logged = await newestModel(send, url, terms, log);
	if (logged) {
		let last = await lastVerified(send, url, terms, log);
		await downloads.newest(logged, last?.manifest.round ?? 0);
	} else try {
		let { manifest } = await verified((await ask(send, {
			method: "GET",
			url: `${url}/round`,
			purpose: "round",
			largest: LARGEST_ENVELOPE
		})).body, terms, log, send, url);
		await downloads.model(manifest, await downloads.info(manifest));
	} catch (error) {
		if (!(error instanceof RefusedError) || !["paused", "finished"].includes(error.code)) throw error;
	}
}
// src/device/preview.ts
async function preview(of, { trainer, entropy }) {
	let { identity, terms, memory, permission, manifest } = of, { fields } = terms, found = await of.downloads.offline(), described = found?.info ?? (await of.downloads.description()).info, info = manifest?.counts && !described.counts ? await of.downloads.info(manifest) : described, phases = methodOf(fields).phases(info), phase = phases.find(({ name }) => name === manifest?.phase) ?? (found ? phases.at(-1) : phases[0]), { history } = heldHistory(of.likes, info, memory.joined, permission, identity.secret), made = await trainer.train({
		of: {
			method: fields.method,
			settings: fields.settings
		},
		info,
		phase: phase.name,
		model: found?.model ?? {},
		round: (manifest?.round ?? found?.kept.round ?? 0) + 1,
		state: memory.state,
		history,
		secret: identity.secret,
		channel: terms.channel,
		largest: manifest?.largest ?? info.clients,
		multiplier: fields.noise.multipliers[phase.name] ?? 0
	}), sent = await preparedUpload(terms, identity.url, phase, made, entropy(32), trainer), messages = [{
		to: `${identity.url}/tickets`,
		purpose: "ticket",
		bytes: 48,
		content: new Uint8Array(48)
	}, ...sent.messages.map(({ url, purpose, length, payload }) => ({
		to: url,
		purpose,
		bytes: length,
		content: payload
	}))], items = Array.from(history.item), open = (row) => history.consent[row] > 0;
	return {
		pi: permission.pi,
		shared: items.filter((_, row) => open(row)),
		kept: items.filter((_, row) => !open(row)),
		phase: phase.name,
		rows: made.rows,
		bytes: messages.reduce((sum, one) => sum + one.bytes, 0),
		messages,
		update: decoded(made.update, phase.name),
		vector: made.vector
	};
}
function decoded({ tables, scalars, own }, phase) {
	return own ? {
		tables: [{
			name: phase,
			width: 1,
			index: own,
			values: new Float64Array(own.length).fill(1)
		}],
		scalars
	} : {
		tables: Object.entries(tables).map(([name, { index, values }]) => ({
			name,
			width: index.length ? values.length / index.length : 0,
			index,
			values: Float64Array.from(values)
		})),
		scalars
	};
}
// src/device/storage.ts
var ClosableStorage = class {
	inner;
	closed = !1;
	constructor(inner) {
		this.inner = inner;
	}
	read(name) {
		return this.inner.read(name);
	}
	list(prefix) {
		return this.inner.list(prefix);
	}
	async write(changes) {
		this.checkOpen(), await this.inner.write(changes);
	}
	async change(names, work) {
		return this.checkOpen(), this.inner.change(names, work);
	}
	async erase() {
		this.closed = !0, await this.inner.erase();
	}
	checkOpen() {
		if (this.closed) throw new DeviceError("everything here was deleted, so nothing more is kept or sent.");
	}
}, DATABASE = "murmura", STORE$1 = "kept", IndexedDbStorage = class IndexedDbStorage {
	name;
	database;
	constructor(name, database) {
		this.name = name, this.database = database;
	}
	static async open(name = DATABASE) {
		let opening = attempted(() => indexedDB.open(name, 1));
		opening.onupgradeneeded = () => opening.result.createObjectStore(STORE$1);
		let database = await done$2(opening);
		return database.onversionchange = () => database.close(), new IndexedDbStorage(name, database);
	}
	async read(name) {
		return done$2(this.store("readonly").get(name));
	}
	async list(prefix) {
		return done$2(this.store("readonly").getAll(IDBKeyRange.bound(prefix, `${prefix}\uffff`)));
	}
	async write(changes) {
		let store = this.store("readwrite"), written = finished(store.transaction);
		try {
			put(store, changes);
		} catch {
			store.transaction.abort();
		}
		await written;
	}
	async change(names, work) {
		let store = this.store("readwrite"), written = finished(store.transaction), made = null, reading = names.map((name) => store.get(name));
		return reading.at(-1).onsuccess = () => {
			try {
				made = { changes: work(reading.map(({ result }) => result)) }, put(store, made.changes);
			} catch (why) {
				made = { why }, store.transaction.abort();
			}
		}, written.then(() => made.changes, (error) => {
			throw made && "why" in made ? made.why : error;
		});
	}
	async erase() {
		this.database.close();
		let deleting = indexedDB.deleteDatabase(this.name), deleted = done$2(deleting);
		deleting.onblocked = null, await deleted;
	}
	store(mode) {
		return attempted(() => this.database.transaction(STORE$1, mode, { durability: "strict" }).objectStore(STORE$1));
	}
};
function put(store, changes) {
	for (let [name, value] of Object.entries(changes)) value === void 0 ? store.delete(name) : store.put(value, name);
}
function attempted(work) {
	try {
		return work();
	} catch (error) {
		throw refused(error);
	}
}
function done$2(request) {
	return new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result), request.onerror = () => reject(refused(request.error)), request instanceof IDBOpenDBRequest && (request.onblocked = () => reject(refused(Error("another tab has it"))));
	});
}
function finished(transaction) {
	return new Promise((resolve, reject) => {
		transaction.oncomplete = () => resolve(), transaction.onabort = transaction.onerror = () => reject(refused(transaction.error));
	});
}
function refused(error) {
	let why = error instanceof Error ? error.message : "it refuses";
	return new DeviceError(`this browser must be able to keep what you decide, but cannot (${why}); nothing was sent: free space, close other tabs of this page or leave private browsing.`);
}
// src/device/browser_device.ts
var POLL = 2, LATER = 600, SOON = .25, EMPTY = {
	stage: "empty",
	federation: null,
	likes: 0,
	permission: NO_CONSENT,
	model: null,
	last: null,
	offered: []
}, Device = class Device {
	parts;
	storage;
	records;
	around;
	listeners = new Set();
	pinned = null;
	now;
	kept = [];
	constructor(parts) {
		this.parts = parts, this.storage = new ClosableStorage(parts.storage), this.records = new Records(this.storage), this.around = {
			...parts,
			send: declared(parts.send, this.storage, parts.clock)
		}, this.now = EMPTY;
	}
	static async open(parts) {
		let device = new Device(parts), identity = await device.records.identity();
		try {
			identity && await device.pin(identity), await device.tell();
		} catch {
			device.pinned = null;
		}
		return device;
	}
	status() {
		return this.now;
	}
	watch(listener) {
		return this.listeners.add(listener), () => this.listeners.delete(listener);
	}
	async reread() {
		let before = JSON.stringify(this.now.permission);
		await this.tell(), JSON.stringify(this.now.permission) !== before && this.pinned?.rounds.cancel();
	}
	async look(link, by = "invitation") {
		let invitation = readInvitation(link), { url, admission } = invitation, { send, entropy, clock } = this.around;
		checkInvited(invitation);
		let known = await this.records.identity(), terms = await fetchTerms(send, url, invitation.terms);
		methodOf(terms.fields);
		let identity = identityOf(invitation, terms, by, known, entropy);
		return admission && await checkAdmission((await ownAdmission(admission)).shown, terms, clock()), await refreshModel(await this.pin(identity, { identity }), this.records, send), await this.tell(), this.now.federation;
	}
	catalogue() {
		let { labels, listed } = this.need();
		return {
			labels,
			listed
		};
	}
	likes() {
		return this.kept;
	}
	async setLikes(likes) {
		checkLikes(likes, this.need().labels.length), await this.storage.write({ likes }), await this.tell();
	}
	async like(likes, on) {
		checkLikes(likes, this.need().labels.length), await changeLikes(this.storage, likes, on), await this.tell();
	}
	find(labels) {
		let places = new Map(this.need().labels.map((label, item) => [String(label), item]));
		return labels.map((label) => places.get(String(label)) ?? null);
	}
	permission() {
		return this.now.permission;
	}
	allow(change) {
		return this.permit(() => change);
	}
	never(item, on) {
		return this.permit(({ never }) => {
			let others = never.filter((one) => one !== item);
			return { never: on ? [...others, item] : others };
		});
	}
	async permit(change) {
		let permission = await changePermission(this.storage, change);
		return this.pinned?.rounds.cancel(), await this.tell(), permission;
	}
	async preview(pi) {
		let { identity, terms, downloads, rounds } = this.need(), [memory, likes, permission] = await Promise.all([
			this.records.memory(),
			this.records.likes(),
			this.records.permission()
		]);
		return preview({
			identity,
			terms,
			downloads,
			manifest: rounds.manifest,
			memory,
			likes,
			permission: {
				...permission,
				pi
			}
		}, this.around);
	}
	join(options = {}) {
		return this.parts.alone(async () => {
			let { identity, terms } = this.need(), { send, clock } = this.around;
			if (checkExact(terms, options.exact || identity.exact), identity.pinnedBy !== "invitation") throw new DeviceError("a place must be taken by an invitation, but the server alone named these terms.");
			let admission = identity.admission ? await ownAdmission(identity.admission) : null;
			admission && await checkAdmission(admission.shown, terms, clock()), checkWindows(terms);
			let place = await register(send, identity.url, terms, admission, identity.token), joined = {
				...identity,
				place,
				minimum: options.minimum ?? identity.minimum,
				readable: options.readable ?? identity.readable,
				exact: options.exact || identity.exact
			};
			await this.storage.write({ identity: joined }), await this.pin(joined), await this.tell();
		});
	}
	visit(stop) {
		return this.parts.alone(async () => {
			let { identity, rounds } = this.need();
			if (identity.place === null) throw new DeviceError("a visitor must join before taking part in rounds, but has not.");
			try {
				let last = await rounds.visit(stop);
				return !stop?.aborted && [
					"sent",
					"not-called",
					"finished"
				].includes(last.kind) && await this.refreshQuietly(), await this.tell(last.kind === "idle" ? {} : { last }), last;
			} catch (error) {
				throw error instanceof TermsChangedError && (await this.storage.write({ offered: error.offered.content }), await this.tell()), error;
			}
		});
	}
	async stay(signal, tell = () => void 0) {
		for (let pause = SOON; !signal.aborted; pause = Math.min(POLL, 2 * pause)) {
			let last;
			try {
				last = await this.visit(signal);
			} catch (error) {
				if (!(error instanceof DeviceError)) throw error;
				let lasting = error instanceof RefusedError && [
					"unauthorised",
					"version",
					"forged"
				].includes(error.code), goneBack = error instanceof GoneBackError;
				if (lasting && !goneBack) throw error;
				last = outcome(goneBack ? "gone-back" : error instanceof UnreachableError ? "idle" : "refused", error.message);
			}
			if (last.kind !== "idle" && tell(last), last.kind === "finished") return;
			last.kind === "sent" && (pause = SOON), await this.around.sleep((last.kind === "gone-back" ? LATER : pause) * (.5 + Math.random()));
		}
	}
	async acceptTerms() {
		let { identity, terms } = this.need(), offered = await this.storage.read("offered");
		if (!offered) throw new DeviceError("there must be changed terms to agree to, but there are none.");
		let accepted = {
			...identity,
			terms: offered
		}, after = await FederationTerms.decode(offered), { method, settings } = after.fields, same = method === terms.fields.method && JSON.stringify(settings) === JSON.stringify(terms.fields.settings), memory = await this.records.memory(), kept = ended(same ? memory : {
			...memory,
			state: null
		}, after.lostAfter(terms));
		await this.pin(accepted, {
			identity: accepted,
			offered: void 0,
			memory: kept
		}), await this.tell();
	}
	recommend(k, options = {}) {
		return this.rank(k, !1, options);
	}
	popular(k) {
		return this.rank(k, !0, {});
	}
	ledger() {
		return readLedger(this.records, this.pinned?.terms ?? null);
	}
	async ledgerCsv() {
		return journalCsv(await this.records.journal());
	}
	async journalFiles() {
		return journalFiles(await this.records.journal());
	}
	async exportAll() {
		return exportedText(this.storage);
	}
	restore(text) {
		return this.parts.alone(async () => {
			let changes = readExport(text);
			if (((await this.records.identity())?.place ?? null) !== null || (await this.records.likes()).length || (await this.records.journal()).length) throw new DeviceError("this browser must have no likes and no place to move a device to it, but has; delete everything first.");
			let identity = await checkIdentity(changes.identity, this.parts.origin);
			checkPermission(changes.permission ?? NO_CONSENT);
			let fits = ({ labels }) => checkLikes(changes.likes ?? [], labels.length);
			await this.pin(identity, {
				...changes,
				identity
			}, fits), await this.tell();
		});
	}
	async leave() {
		let identity = await this.records.identity(), why = null;
		try {
			await this.storage.write({ permission: NO_CONSENT }).finally(() => this.pinned?.rounds.cancel()), identity && identity.place !== null && await giveUp(this.around.send, identity.url, identity.token);
		} catch (error) {
			if (!(error instanceof DeviceError)) throw error;
			why = error.message;
		}
		return await this.storage.erase(), this.pinned = null, this.kept = [], this.announce(EMPTY), why;
	}
	async rank(k, popular, options) {
		let { identity, terms, downloads } = this.need(), found = await downloads.offline();
		if (!found) throw new DeviceError("there must be a model to rank with, but the federation has published none yet.");
		let { kept, info, model } = found, memory = await this.records.memory(), somebody = options.as, { history } = heldHistory(somebody ?? this.kept, info, memory.joined, NO_CONSENT, identity.secret), { method, settings } = terms.fields, begun = performance.now();
		return {
			list: await this.around.trainer.rank({
				of: {
					method,
					settings
				},
				info,
				round: kept.round + 1,
				model,
				state: somebody ? null : memory.state,
				history,
				secret: identity.secret,
				k,
				popular,
				disclosed: somebody ? [] : memory.sent,
				withoutTerms: options.withoutTerms ?? [],
				withoutLikes: options.withoutLikes ?? []
			}),
			personal: !popular,
			milliseconds: performance.now() - begun,
			model: kept.hash,
			round: kept.round
		};
	}
	async refreshQuietly() {
		try {
			await refreshModel(this.need(), this.records, this.around.send);
		} catch (error) {
			if (!(error instanceof UnreachableError || error instanceof RefusedError)) throw error;
		}
	}
	need() {
		if (!this.pinned) throw new DeviceError("an invitation must be opened first, but none was.");
		return this.pinned;
	}
	async pin(identity, changes, check) {
		let found = await pinned(identity, this.records, this.around);
		return check?.(found), changes && await this.storage.write(changes), this.pinned = found;
	}
	async tell(news = {}) {
		this.kept = await this.records.likes();
		let permission = await this.records.permission(), now = this.pinned, facts = now ? federationFacts(now.identity, now.terms, (await now.downloads.description()).info) : null, found = now ? await this.storage.read("public/model") : void 0, offered = now && await this.storage.read("offered");
		this.announce({
			...this.now,
			federation: facts,
			offered: offered ? now.terms.differences(await FederationTerms.decode(offered)) : [],
			permission,
			likes: this.kept.length,
			stage: now ? now.identity.place === null ? "visitor" : "member" : "empty",
			model: found ? {
				hash: found.hash,
				round: found.round,
				bytes: found.content.length
			} : null,
			...news
		});
	}
	announce(status) {
		this.now = status;
		for (let listener of this.listeners) listener(status);
	}
};
// src/device/worker_trainer.ts
function workerTrainer(worker) {
	let waiting = new Map(), asked = 0, fail = (message) => {
		for (let { reject } of waiting.values()) reject(new DeviceError(message));
		waiting.clear();
	};
	worker.onerror = () => fail("the worker that trains must answer, but broke off; load the page anew."), worker.onmessage = ({ data }) => {
		let one = waiting.get(data.id);
		waiting.delete(data.id), data.error === void 0 ? one?.resolve(data.result) : one?.reject(new DeviceError(data.error));
	};
	function ask(work) {
		let id = asked++;
		return new Promise((resolve, reject) => {
			waiting.set(id, {
				resolve,
				reject
			}), worker.postMessage({
				...work,
				id
			});
		});
	}
	return {
		train: (request) => ask({
			kind: "train",
			request
		}),
		rank: (request) => ask({
			kind: "rank",
			request
		}),
		commit: (request) => ask({
			kind: "commit",
			request
		}),
		prove: (request) => ask({
			kind: "prove",
			request
		})
	};
}
// src/device/open.ts
var LOCK = "murmura device";
async function openDevice(worker) {
	return Device.open({
		storage: await IndexedDbStorage.open(),
		send: fetchTransport,
		trainer: workerTrainer(worker),
		clock: () => Date.now() / 1e3,
		sleep: (seconds) => new Promise((resolve) => setTimeout(resolve, 1e3 * seconds)),
		entropy: systemRandomness,
		origin: location.origin,
		alone
	});
}
function systemRandomness(bytes) {
	return crypto.getRandomValues(new Uint8Array(bytes));
}
async function alone(work) {
	let held = await navigator.locks.request(LOCK, { ifAvailable: !0 }, async (lock) => lock ? { result: await work() } : null);
	if (!held) throw new DeviceError("only one tab of this page can take part at a time, and another one does; use that one.");
	return held.result;
}
// src/sw/meter_store.ts
var METER$1 = "murmura-meter", STORE = "requests";
async function countedRequests() {
	let database = await open$1();
	try {
		return (await done$1(database.transaction(STORE).objectStore(STORE).getAll())).sort((one, other) => one.time.localeCompare(other.time));
	} finally {
		database.close();
	}
}
function open$1() {
	let opening = indexedDB.open(METER$1, 1);
	return opening.onupgradeneeded = () => opening.result.createObjectStore(STORE), done$1(opening);
}
function done$1(request) {
	return new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result), request.onerror = () => reject(request.error ?? Error("not read"));
	});
}
// src/ui/meter.ts
var FILES = [
	"/",
	"/titles.json",
	"/federation",
	"/assets/app.js",
	"/assets/app.css",
	"/assets/training.js",
	"/assets/training_worker.js",
	"/icon.svg",
	"/manifest.webmanifest"
];
async function readMeter(traffic) {
	return navigator.serviceWorker?.controller ? compared(await countedRequests(), traffic, location.origin) : {
		available: !1,
		counted: [],
		bytes: 0,
		undeclared: []
	};
}
function compared(requests, traffic, origin) {
	let declared = new Map();
	for (let { method, url, hash } of traffic) count(declared, `${method} ${url} ${hash}`, 1);
	let undeclared = requests.filter(({ method, url, hash }) => {
		if (!hash && method === "GET" && isPublic(url, origin)) return !1;
		let name = `${method} ${url} ${hash}`, left = declared.get(name) ?? 0;
		return left > 0 && hash && count(declared, name, -1), left <= 0;
	}), counted = requests.filter(({ bytes }) => bytes > 0);
	return {
		available: !0,
		counted,
		bytes: counted.reduce((sum, { bytes }) => sum + bytes, 0),
		undeclared
	};
}
function isPublic(url, origin) {
	return FILES.some((path) => url === origin + path);
}
async function forgetMeter() {
	await new Promise((resolve) => {
		let deleting = indexedDB.deleteDatabase(METER$1);
		deleting.onsuccess = deleting.onerror = deleting.onblocked = () => resolve();
	});
}
function count(counts, name, by) {
	counts.set(name, (counts.get(name) ?? 0) + by);
}
// src/ui/forgetting.ts
async function forgetPage() {
	let kept = globalThis.caches, workers = globalThis.navigator?.serviceWorker;
	try {
		for (let name of await kept?.keys() ?? []) await kept.delete(name);
		for (let one of await workers?.getRegistrations() ?? []) await one.unregister();
	} finally {
		await forgetMeter();
	}
}
// src/ui/invitation.ts
async function invitationHere(known) {
	let fragment = location.hash.slice(1);
	if (fragment.startsWith("2.")) return history.replaceState(null, "", location.pathname), {
		text: linkOf(fragment),
		by: "invitation"
	};
	if (known) return null;
	let description = await (await fetch("/federation")).json(), bytes = new Uint8Array((description.terms.match(/../g) ?? []).map((two) => parseInt(two, 16)));
	return {
		text: linkOf(`2.${btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`),
		by: "server"
	};
}
function linkOf(fragment) {
	let scheme = location.protocol.slice(0, -1), name = location.hostname;
	return `murmura${scheme === (name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name) ? "http" : "https") ? "" : `+${scheme}`}://${location.host}#${fragment}`;
}
// src/ui/newest.ts
function newest(take) {
	let asked = 0;
	return async (work) => {
		let mine = ++asked, made = await work();
		mine === asked && take(made);
	};
}
// src/ui/texts.ts
var texts = {
	name: "Murmura",
	screens: {
		start: "Your likes",
		"for-you": "For you",
		share: "Share",
		left: "What left",
		data: "My data",
		how: "How it works"
	},
	pill: {
		nothing: "Nothing has left this browser",
		unknown: "What has left is not known yet",
		deleted: "Everything here is deleted",
		asked: (bytes) => `No upload yet (${bytes}): see`,
		uploads: (n, bytes) => `${n === 1 ? "1 upload" : `${n} uploads`}, ${bytes}: see`,
		undeclared: "A request left that this page did not declare"
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
		fewer: (n) => n === 1 ? "One more, and your list gets better." : `${n} more, and your list gets better.`,
		enough: "Your list is ready. More likes make it better.",
		yours: (n) => likesText(n),
		nothing: "Nothing yet. What you pick appears here.",
		remove: (title) => `Remove ${title}`,
		samples: "Or look around as somebody else",
		samplesHint: "Your own likes stay as they are. Nothing of it is kept, trained on or sent.",
		sample: (kind) => `as if you liked ${kind}`,
		open: "Open a file of your own",
		openHint: "MovieLens, Netflix or any CSV. It is read here and goes nowhere.",
		opened: (found, rows, note) => `${found} of ${rows} titles are known here. ${note}`,
		popular: "Known by many",
		see: "See what is for you"
	},
	forYou: {
		title: "For you",
		tabs: {
			personal: "For you",
			popular: "Popular, not personal"
		},
		footer: (ms, round, bytes) => `Ranked in this browser in ${ms} ms, with the model of round ${round} (${bytes} downloaded).`,
		somebody: (kind, own) => `A list as if you liked ${kind}. ${own ? `Your own ${likesText(own)} stay as they are. ` : ""}Nothing of it is kept, trained on or sent.`,
		own: "Back to your own list",
		empty: "Like a few titles first: this list is made from them, here.",
		pick: "Pick some",
		noModel: "This federation has published no model yet. Your likes are kept; come back after its first round.",
		similar: (titles) => `Similar to ${titles}`,
		terms: (terms) => `Because of ${terms}`,
		everybody: "What many people like: one list for everyone.",
		like: "Like",
		liked: "Liked",
		shared: "(also something you share)",
		and: " and "
	},
	share: {
		title: "Do you want to share?",
		lead: "This works without sharing. If you share, your browser trains together with others. What it sends is split in two halves for two machines; neither can read its own.",
		keep: "Keep everything here",
		choose: "Choose how much to share",
		stops: [
			"Nothing",
			"A little",
			"Half",
			"Everything"
		],
		slider: "How much of what you like may be part of updates",
		leaves: "What leaves",
		leavesNothing: "Nothing.",
		leavesSome: (n, all, bytes) => `At most ${n} of your ${all} titles are used, ever. Each round sends ${bytes}, whatever is in it. Rounds go on while this tab is open, without a limit.`,
		noneUsed: "None of your titles is used at this share.",
		next: (stop, share) => `Try ${stop} (${share})`,
		titles: "These titles:",
		hidden: "These stay:",
		observer: "What somebody watching could work out",
		observerNothing: "Nothing about your likes: nobody gets a message.",
		epsilon: (epsilon, against) => `Noise bounds it: epsilon ${epsilon} for one person with all she has, against ${against}.`,
		noNoise: "Sums without noise: you are hidden only among at least {n} people.",
		exact: "I allow sums without noise. Everybody can read them in the model: whoever knows one rare title of mine may learn others.",
		lose: "What you lose or gain",
		loseList: "Your own list hardly changes: it is made here from all you like. Sharing decides what others get.",
		loseAlone: "If only you and a few chose this",
		loseAll: "If everyone chose this",
		limit: "The slider decides how many titles are used. It does not hide them: that is what the two machines are for.",
		preview: "Show me the exact message first",
		previewTitle: "The message, before it is split and sealed",
		previewWhere: (bytes, to) => `${bytes} to ${to}`,
		previewRows: (n) => `${n} rows; each stands for one title:`,
		previewMore: (n) => `and ${n} rows more`,
		download: "Download this message",
		use: "Use this",
		cancel: "Cancel",
		now: (share) => `Now: ${share}`,
		invitation: "Sharing needs an invitation, and this page was opened without one. You can use everything else.",
		small: (n) => `Sums of ${n} people hide little. Share only if you know why.`,
		notMeasured: "not measured",
		need: "Like something first: then there is something to share.",
		stopped: "You stopped sharing. What was added to sums before cannot be taken out of them."
	},
	left: {
		upload: (round) => `Round ${round}`,
		title: "What left this browser",
		lead: "Written down before the first byte leaves, and counted again by another program in this browser (the meter). Both must agree.",
		nothing: "Nothing about you has left. Requests for public things are below.",
		columns: [
			"when",
			"round",
			"what for",
			"bytes (page)",
			"bytes (meter)",
			"state"
		],
		agree: (page, meter) => `Page ${page}, meter ${meter}: they agree.`,
		differ: (page, meter) => `Page ${page}, meter ${meter}: they do not agree.`,
		noMeter: "The meter is not available in this browser: only the page counts.",
		undeclared: "Not declared by this page",
		undeclaredLead: "The meter saw requests that the page did not write down. Do not trust this page: leave it, and tell who runs it.",
		open: "Show",
		contents: "These likes were part of it:",
		none: "none of your likes: drawn items alone",
		chain: (head) => `The lines are chained; the last one is ${head}.`,
		csv: "Download as CSV",
		down: "Public things that were fetched",
		times: (n) => n === 1 ? "once" : `${n} times`,
		check: "Check with your own tools: open the developer tools (F12), choose Network, and compare.",
		countersigned: "signed for by both machines",
		disclosed: (share) => `${share} of your likes have ever been part of an upload`,
		purposes: {
			join: "take a place",
			ticket: "ask to report in a round",
			"seed share": "one half, sealed",
			"vector share": "the other half, sealed",
			letter: "an update the server reads",
			leave: "give the place back"
		}
	},
	data: {
		title: "Everything about you",
		lead: "It is all in this browser, and this is all of it.",
		likes: (n) => `${n} likes`,
		never: "Never share",
		neverHint: "Titles marked so are no part of an update, whatever the slider says.",
		download: "Download everything",
		move: "Move it to another device",
		moveHint: "Download the file, open it on the other device, then delete everything here: two devices with one identity would be refused.",
		restore: "Open a file from another device",
		remove: "Delete everything",
		sure: "Delete your likes, your settings, the ledger and the copy of this page?",
		yes: "Yes, delete everything",
		no: "No, keep it",
		honest: "What was added to sums in past rounds cannot be taken out of them: no machine has your part.",
		deleted: "Everything is deleted: likes, settings, ledger, meter, and the copy of this page. Close the tab, or begin anew.",
		again: "Begin anew",
		left: (why) => `The place in the federation could not be given back (${why}); it is lost by itself after some rounds.`
	},
	how: {
		title: "How it works",
		steps: [
			["You like", "Your likes, and what this browser learned of your taste, stay here."],
			["It learns", "Your browser takes the public model, the same for everyone, and works out how it would change for you."],
			["It splits", "The change is cut into two halves of random numbers, each sealed for one machine. One half tells nothing. Exact sums need a proof that the halves follow the rules; it tells nothing else."],
			["They add up", "Each machine adds the halves of everyone. Only both sums together mean something: how all changed it."]
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
			sees: ["Who sees what", "Each machine: random numbers. Both together: they could read your message, so they should belong to two people who would not conspire"],
			address: ["Your address", "Every server you visit sees your network address, this one too"]
		},
		limits: "What this page cannot promise",
		limitsList: [
			"The meter comes from the same server as this page: it shows mistakes, not a server that lies with both.",
			"Whoever runs this server also sends you this page, and could send you another one. The last section here says how to compare it with the published one.",
			"A browser stops requests to other addresses; it does not stop a page from opening another page with something in its address, or from WebRTC.",
			"The two machines could put their halves together. They are named above.",
			"What was added to a sum cannot be taken out of it."
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
		verifyHint: "With Murmura installed, this compares every file of this page with the published one:"
	},
	measured: {
		matched: (odds, people) => `Somebody who knows half of your likes and sees every sum of ${people} people is shown two equally known titles, one of them yours, and picks yours ${odds} times in 100; by guessing, 50.`,
		notMeasured: (people) => `The odds are not measured for sums of ${people} people with this method and noise.`,
		observed: (data) => `Measured on ${data}, where everyone shares everything.`,
		otherShare: "Not measured at this share. At everything:",
		level: (hits, before, odds, data) => `${hits} of 100 titles shown to you would be right, ${before} if you shared everything. Whoever sees the sums with and without you, of two equally known titles, picks yours ${odds} times in 100. Measured on ${data}.`,
		everyone: (hits, data) => `${hits} of 100 titles shown would be right, measured on ${data}.`
	},
	errors: {
		worker: "This browser must be able to start a background worker, but cannot; a newer browser can.",
		offline: "This page must have been opened with the network once; then it works without.",
		file: {
			large: (mb) => `A file must be smaller than ${mb} MB; this one is larger.`,
			empty: "This file must hold a table with a line for each title, but has none. MovieLens, Netflix and CSV files work.",
			columns: (header) => `This file must have a column with titles or with item numbers, but has "${header}". Name one title, item or movieId.`,
			people: (n) => `This file must be of one person, but has rows of ${n}. Open one with your own rows alone.`,
			unknown: "None of the titles in this file is known here, so nothing was changed.",
			rated: (from) => `Ratings of ${from} and more count as likes.`,
			json: "This must be a file that this page has written, but is something else; nothing was changed."
		}
	}
};
function likesText(n) {
	return n === 1 ? "1 like" : `${n} likes`;
}
function bytesText(bytes) {
	return bytes < 1e3 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
function percent(share) {
	return `${Math.round(100 * share)} %`;
}
// src/ui/titles.ts
var Titles = class Titles {
	all;
	plain;
	constructor(titles, kinds, of) {
		this.all = titles.map((text, item) => ({
			...readable(text),
			kinds: (of[item] ?? []).map((kind) => kinds[kind] ?? "")
		})), this.plain = this.all.map(({ name, year }) => simplified(`${name} ${year}`));
	}
	static async fetch() {
		let read = await (await fetch("/titles.json")).json();
		return new Titles(read.titles, read.kinds, read.of);
	}
	of(item) {
		return this.all[item] ?? {
			name: `item ${item}`,
			year: "",
			kinds: []
		};
	}
	text(item) {
		let { name, year } = this.of(item);
		return year ? `${name} (${year})` : name;
	}
	search(text, most, rank) {
		let words = simplified(text).split(" ").filter(Boolean), begin = simplified(text);
		if (!words.length) return [];
		let found = [];
		this.plain.forEach((one, item) => {
			words.every((word) => one.includes(word)) && found.push(item);
		});
		let order = (item) => (this.plain[item].startsWith(begin) ? 0 : 1e9) + rank(item);
		return found.sort((one, other) => order(one) - order(other)).slice(0, most);
	}
	find(text) {
		let wanted = simplified(Object.values(readable(text)).join(" ")), exact = this.matches((one) => one === wanted), found = exact.length ? exact : this.matches((one) => one.replace(/ \d{4}$/, "") === wanted);
		return found.length === 1 ? found[0] : null;
	}
	kinds() {
		let counts = new Map();
		for (let { kinds } of this.all) for (let kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
		return [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
	}
	matches(fits) {
		return this.plain.flatMap((one, item) => fits(one) ? [item] : []);
	}
};
function readable(text) {
	let found = /^(.*?)\s*\((\d{4})\)\s*$/.exec(text), whole = found ? found[1] : text.trim(), turned = /^(.*), (The|A|An|Le|La|Les|Il|El|Der|Die|Das)( \(.*\))?$/.exec(whole);
	return {
		name: turned ? `${turned[2]} ${turned[1]}${turned[3] ?? ""}` : whole,
		year: found?.[2] ?? ""
	};
}
function simplified(text) {
	return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}
// src/ui/what_left.ts
function requestsAboutHer(ledger) {
	return (ledger?.traffic ?? []).filter(({ bytes, method }) => bytes > 0 || method === "DELETE");
}
function pillText({ ledger, deleted, paused, undeclared }) {
	let said = texts.pill;
	if (deleted) return said.deleted;
	if (undeclared) return said.undeclared;
	if (paused) return texts.paused;
	if (!ledger) return said.unknown;
	let bytes = bytesText(ledger.bytesUp);
	return ledger.entries.length ? said.uploads(ledger.entries.length, bytes) : requestsAboutHer(ledger).length ? said.asked(bytes) : said.nothing;
}
// src/ui/state.ts
var SCREENS = [
	"start",
	"for-you",
	"share",
	"left",
	"data",
	"how"
], KNOWN = 400, screen = y$1("start"), status = y$1(null), titles = y$1(null), likes = y$1([]), persona = y$1(null), ranking = y$1(null), popular = y$1(null), ledger = y$1(null), meter = y$1(null), trouble = y$1(""), online = y$1(!0), gone = y$1(null), paused = O(() => status.value?.permission.paused ?? !1), liked = O(() => new Set(likes.value.map(({ item }) => item))), popularity = O(() => new Map((popular.value?.list ?? []).map(({ item }, place) => [item, place]))), sent = O(() => requestsAboutHer(ledger.value)), device = null, staying = null, tabs = new BroadcastChannel("murmura"), newestRanking = newest((made) => void (ranking.value = made ?? null));
function theDevice() {
	if (!device) throw new DeviceError(texts.errors.offline);
	return device;
}
async function begin(worker) {
	let made = device = await openDevice(worker);
	made.watch((now) => void (status.value = now));
	let link = await invitationHere(made.status().stage !== "empty");
	link && await guarded(() => made.look(link.text, link.by)), made.status().stage === "empty" ? (await refresh(), trouble.value ||= texts.errors.offline) : (titles.value = await Titles.fetch(), status.value = made.status(), likes.value = made.likes(), made.status().model && await guarded(async () => void (popular.value = await made.popular(KNOWN))), await refresh(), likes.value.length && !location.hash && (screen.value = "for-you"), tabs.onmessage = ({ data }) => void hear(data), stayOrStop());
}
async function guarded(work) {
	try {
		return await work();
	} catch (error) {
		gone.value === null && (trouble.value = error instanceof Error ? error.message : String(error));
		return;
	}
}
async function like(some, on = !0) {
	await guarded(async () => {
		await theDevice().like(some, on), likes.value = theDevice().likes(), tabs.postMessage("changed"), await rank();
	});
}
function toggle(item) {
	return like([{
		item,
		value: 1,
		time: Math.floor(Date.now() / 1e3)
	}], !liked.value.has(item));
}
async function never(item, on) {
	await guarded(() => theDevice().never(item, on)), tabs.postMessage("changed");
}
function lookAs(somebody) {
	return persona.value = somebody, rank();
}
async function share(pi, exact) {
	let done = await guarded(async () => {
		let { stage, federation } = theDevice().status(), { minimum, exactAllowed } = federation;
		return pi > 0 && (stage !== "member" || exact && !exactAllowed) && await theDevice().join({
			minimum,
			exact
		}), await theDevice().allow({
			train: pi > 0,
			statistics: pi > 0,
			pi,
			...pi > 0 ? {} : { paused: !1 }
		}), !0;
	});
	return stayOrStop(), tabs.postMessage("changed"), await refresh(), done ?? !1;
}
async function pause(on) {
	on && staying?.abort(), await guarded(() => theDevice().allow({ paused: on })), tabs.postMessage("changed"), stayOrStop();
}
async function refresh() {
	await guarded(async () => {
		let kept = await theDevice().ledger();
		gone.value === null && (ledger.value = kept, meter.value = await readMeter(kept.traffic));
	}), await rank();
}
async function erase() {
	await guarded(async () => {
		staying?.abort();
		let why = await theDevice().leave();
		await forgetPage(), deleted(why ?? ""), tabs.postMessage("deleted");
	});
}
function deleted(why) {
	staying?.abort(), gone.value = why, status.value = null, ledger.value = meter.value = persona.value = ranking.value = null, likes.value = [], trouble.value = "";
}
async function hear(said) {
	if (said === "deleted") return deleted(""), forgetPage();
	gone.value === null && (await guarded(() => theDevice().reread()), likes.value = theDevice().likes(), stayOrStop(), await refresh());
}
function stayOrStop() {
	let { stage, permission } = theDevice().status();
	stage !== "member" || !permission.train || permission.paused ? staying?.abort() : (!staying || staying.signal.aborted) && stay();
}
function stay() {
	let mine = staying = new AbortController(), tell = (last) => {
		last.kind === "gone-back" && (trouble.value = last.why), last.kind === "sent" && tabs.postMessage("changed"), refresh();
	};
	guarded(() => theDevice().stay(mine.signal, tell)).finally(() => {
		mine.abort(), refresh();
	});
}
async function rank() {
	let somebody = persona.value?.likes, able = (somebody ?? likes.value).length > 0 && theDevice().status().model !== null;
	await newestRanking(async () => able ? guarded(() => theDevice().recommend(10, somebody ? { as: somebody } : {})) : null);
}
// node_modules/preact/jsx-runtime/dist/jsxRuntime.mjs
var f = Symbol.for("pv"), o = 0;
Array.isArray;
function a(t, e, n, u, a, i) {
	e ||= {};
	var c, l, p = e;
	if ("ref" in p && typeof t != "function") for (l in p = {}, e) l == "ref" ? c = e[l] : p[l] = e[l];
	var s = {
		type: t,
		props: p,
		key: n,
		ref: c,
		__k: null,
		__: null,
		__b: 0,
		__e: null,
		__c: null,
		constructor: f,
		__v: --o,
		__i: -1,
		__u: 0
	};
	return (a || i) && (s.__source = a, s.__self = i), n$1.vnode && n$1.vnode(s), s;
}
// src/ui/screens/for_you.tsx
var personal = y$1(!0), said$8 = texts.forYou;
function ForYou() {
	let found = personal.value ? ranking.value : popular.value, { model } = status.value;
	return a($, { children: [
		a("h1", { children: said$8.title }),
		a("div", {
			class: "tabs",
			role: "tablist",
			children: [[!0, said$8.tabs.personal], [!1, said$8.tabs.popular]].map(([own, text]) => a("button", {
				role: "tab",
				"aria-selected": personal.value === own,
				onClick: () => personal.value = own,
				children: text
			}, text))
		}),
		personal.value && persona.value && a("section", {
			class: "card",
			"data-persona": !0,
			children: [a("p", { children: said$8.somebody(persona.value.kind, likes.value.length) }), a("button", {
				class: "button",
				onClick: () => void lookAs(null),
				children: said$8.own
			})]
		}),
		model ? found ? a(List, { found }) : a("section", {
			class: "card centre",
			children: [a("p", { children: said$8.empty }), a("a", {
				class: "button",
				href: "#/start",
				children: said$8.pick
			})]
		}) : a("p", {
			class: "card",
			children: said$8.noModel
		}),
		found && model && a("p", {
			class: "hint",
			children: said$8.footer(found.milliseconds.toFixed(1), model.round, bytesText(model.bytes))
		})
	] });
}
function List({ found }) {
	let known = titles.value;
	return a($, { children: [!found.personal && a("p", {
		class: "hint",
		children: said$8.everybody
	}), a("ol", {
		class: "list",
		"data-list": found.personal ? "personal" : "popular",
		children: found.list.slice(0, 10).map(({ item, reasons }, place) => {
			let { name, year, kinds } = known.of(item), on = liked.value.has(item);
			return a("li", {
				class: "card",
				children: [
					a("span", {
						class: "place",
						"aria-hidden": "true",
						children: place + 1
					}),
					a("div", { children: [
						a("h2", { children: [
							name,
							" ",
							a("small", { children: year })
						] }),
						a("p", {
							class: "kinds",
							children: kinds.slice(0, 4).join(" · ")
						}),
						reasons.length > 0 && a("p", {
							class: "why",
							children: [
								reasonText(reasons),
								" ",
								!reasons.every(({ local }) => local) && a("small", { children: said$8.shared })
							]
						})
					] }),
					a("button", {
						class: "quiet",
						"aria-pressed": on,
						onClick: () => void toggle(item),
						"aria-label": `${said$8.like}: ${known.text(item)}`,
						children: on ? said$8.liked : said$8.like
					})
				]
			}, item);
		})
	})] });
}
function reasonText(reasons) {
	let terms = reasons.filter(({ kind, weight }) => kind === "term" && weight > 0).slice(0, 3).map(({ label }) => label);
	if (terms.length) return said$8.terms(terms.join(", "));
	let near = reasons.flatMap(({ item }) => item === null ? [] : [titles.value.of(item).name]).slice(0, 2);
	return said$8.similar(near.join(said$8.and));
}
// src/ui/screens/shares_picture.tsx
var RING = 1e3, values = y$1([
	3,
	7,
	5
]), seed = y$1(0), said$7 = texts.how;
function SharesPicture() {
	let drawn = values.value.map((value, n) => {
		let first = half(seed.value * 7 + n);
		return {
			value,
			first,
			second: (value - first + 2 * RING) % RING
		};
	}), sums = ["first", "second"].map((which) => drawn.reduce((sum, one) => sum + one[which], 0) % RING);
	return a("figure", {
		class: "card shares",
		children: [
			a("figcaption", { children: said$7.picture }),
			a("div", {
				class: "scroll",
				children: a("table", { children: [
					a("thead", { children: a("tr", { children: [
						a("th", {
							scope: "col",
							children: said$7.person
						}),
						a("th", { scope: "col" }),
						a("th", {
							scope: "col",
							children: said$7.first
						}),
						a("th", {
							scope: "col",
							children: said$7.second
						})
					] }) }),
					a("tbody", { children: drawn.map(({ value, first, second }, n) => a("tr", { children: [
						a("th", {
							scope: "row",
							children: n + 1
						}),
						a("td", { children: [a("input", {
							type: "range",
							min: "0",
							max: "9",
							value,
							"aria-label": `${said$7.person} ${n + 1}`,
							onInput: ({ currentTarget }) => values.value = values.value.map((one, m) => m === n ? Number(currentTarget.value) : one)
						}), a("b", { children: value })] }),
						a("td", {
							class: "noise",
							children: first
						}),
						a("td", {
							class: "noise",
							children: second
						})
					] }, n)) }),
					a("tfoot", { children: a("tr", { children: [
						a("th", {
							scope: "row",
							children: said$7.sum
						}),
						a("td", { children: a("b", { children: (sums[0] + sums[1]) % RING }) }),
						a("td", {
							class: "noise",
							children: sums[0]
						}),
						a("td", {
							class: "noise",
							children: sums[1]
						})
					] }) })
				] })
			}),
			a("p", {
				class: "hint",
				children: [
					said$7.pictureNote,
					" ",
					a("button", {
						class: "quiet",
						onClick: () => seed.value += 1,
						children: said$7.draw
					})
				]
			})
		]
	});
}
function half(of) {
	return Math.floor((Math.imul(of + 1, 2654435761) >>> 0) / 2 ** 32 * RING);
}
// src/ui/screens/how.tsx
var said$6 = texts.how;
function How() {
	let facts = status.value.federation;
	return a($, { children: [
		a("h1", { children: said$6.title }),
		a("ol", {
			class: "steps",
			children: said$6.steps.map(([name, text]) => a("li", {
				class: "card",
				children: [a("h2", { children: name }), a("p", { children: text })]
			}, name))
		}),
		a(SharesPicture, {}),
		a("section", {
			class: "card label",
			children: [a("h2", { children: said$6.label }), a("dl", {
				class: "facts",
				children: Object.values(said$6.facts).map(([name, text]) => a($, { children: [a("dt", { children: name }), a("dd", { children: text.replace("{n}", String(facts.minimum)) })] }, name))
			})]
		}),
		a("section", {
			class: "card",
			children: [
				a("h2", { children: said$6.federation }),
				facts.pinnedBy !== "invitation" && a("p", {
					class: "warn",
					children: said$6.without
				}),
				a("dl", {
					class: "facts",
					children: [
						a("dt", { children: said$6.method }),
						a("dd", { children: facts.method }),
						a("dt", { children: said$6.minimum }),
						a("dd", { children: [
							facts.minimum,
							" ",
							said$6.people
						] }),
						a("dt", { children: said$6.deviceCounts }),
						a("dd", { children: [
							facts.people,
							" ",
							said$6.people
						] }),
						a("dt", { children: said$6.noise }),
						a("dd", { children: facts.epsilon === null ? said$6.noNoise : `epsilon ${facts.epsilon}, delta ${facts.delta}; ${facts.unit}, ${facts.against}` }),
						a("dt", { children: said$6.machines }),
						a("dd", { children: a("ul", {
							class: "plain",
							children: facts.machines.map(({ role, url, key }) => a("li", { children: [
								role,
								": ",
								url,
								" ",
								a("code", { children: [key.slice(0, 16), "…"] })
							] }, role))
						}) })
					]
				}),
				a("p", { children: a("a", {
					href: "/operator",
					children: said$6.operator
				}) })
			]
		}),
		a("section", {
			class: "card",
			children: [a("h2", { children: said$6.limits }), a("ul", { children: said$6.limitsList.map((one) => a("li", { children: one }, one)) })]
		}),
		a("section", {
			class: "card",
			children: [
				a("h2", { children: said$6.verify }),
				a("p", { children: said$6.verifyHint }),
				a("pre", { children: a("code", { children: ["murmura verify ", location.origin] }) })
			]
		})
	] });
}
// src/ui/save_file.ts
function saveFile(name, text) {
	let link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" })), link.download = name, link.click(), URL.revokeObjectURL(link.href);
}
// src/ui/screens/title_list.tsx
var OPEN = 6;
function TitleList({ name, items }) {
	if (!items.length) return null;
	let known = titles.value, shown = items.slice(0, OPEN).map((item) => known.of(item).name).join(", ");
	return items.length <= OPEN ? a("p", {
		class: "titles",
		children: [
			a("b", { children: name }),
			" ",
			shown
		]
	}) : a("details", {
		class: "titles",
		children: [a("summary", { children: [
			a("b", { children: name }),
			" ",
			shown,
			", …"
		] }), a("p", { children: items.slice(OPEN).map((item) => known.of(item).name).join(", ") })]
	});
}
// src/ui/screens/left.tsx
var said$5 = texts.left;
function Left() {
	A$1(() => void refresh(), []);
	let kept = ledger.value, counted = meter.value;
	if (!kept || !counted) return a("p", {
		class: "loading",
		children: texts.loading
	});
	let bytes = sent.value.reduce((sum, one) => sum + one.bytes, 0), agree = counted.bytes === bytes && !counted.undeclared.length;
	return a($, { children: [
		a("h1", { children: said$5.title }),
		a("p", {
			class: "lead",
			children: said$5.lead
		}),
		counted.undeclared.length > 0 && a("section", {
			class: "card alarm",
			"data-undeclared": !0,
			children: [
				a("h2", { children: said$5.undeclared }),
				a("p", { children: said$5.undeclaredLead }),
				a("ul", { children: counted.undeclared.map((one, n) => a("li", { children: [
					a("code", { children: [
						one.method,
						" ",
						one.url
					] }),
					" ",
					bytesText(one.bytes + one.address)
				] }, n)) })
			]
		}),
		a("p", {
			class: agree || !counted.available ? "verdict" : "verdict bad",
			"data-verdict": !0,
			"data-page": bytes,
			"data-meter": counted.bytes,
			children: counted.available ? agree ? said$5.agree(bytesText(bytes), bytesText(counted.bytes)) : said$5.differ(bytesText(bytes), bytesText(counted.bytes)) : said$5.noMeter
		}),
		sent.value.length ? a(Traffic, { sent: sent.value }) : a("p", {
			class: "card",
			children: said$5.nothing
		}),
		kept.entries.map((one) => a(Upload, { one }, one.hash)),
		kept.entries.length > 0 && a($, { children: [a("p", {
			class: "hint",
			children: said$5.chain(kept.head.slice(0, 16))
		}), a("button", {
			class: "quiet",
			onClick: () => void guarded(async () => saveFile("murmura-ledger.csv", await theDevice().ledgerCsv())),
			children: said$5.csv
		})] }),
		a("details", { children: [a("summary", { children: [
			said$5.down,
			" (",
			bytesText(kept.bytesDown),
			")"
		] }), a("ul", {
			class: "plain",
			children: kept.traffic.filter(({ bytes: up }) => !up).map((one) => a("li", { children: [
				a("code", { children: one.url }),
				" ",
				said$5.times(one.times),
				", ",
				bytesText(one.received)
			] }, one.id))
		})] }),
		a("p", {
			class: "hint",
			children: said$5.check
		})
	] });
}
function Traffic({ sent: lines }) {
	let counted = new Map((meter.value?.counted ?? []).map(({ hash, bytes }) => [hash, bytes]));
	return a("div", {
		class: "scroll",
		tabIndex: 0,
		role: "region",
		"aria-label": said$5.title,
		children: a("table", {
			"data-traffic": !0,
			children: [a("thead", { children: a("tr", { children: said$5.columns.map((one) => a("th", {
				scope: "col",
				children: one
			}, one)) }) }), a("tbody", { children: [...lines].reverse().map((one) => a("tr", { children: [
				a("td", { children: new Date(one.time).toLocaleTimeString() }),
				a("td", { children: one.round ?? "" }),
				a("td", { children: [
					said$5.purposes[one.purpose] ?? one.purpose,
					" ",
					a("small", { children: new URL(one.url).host })
				] }),
				a("td", { children: one.bytes.toLocaleString("en") }),
				a("td", { children: counted.get(one.hash)?.toLocaleString("en") ?? "–" }),
				a("td", { children: one.state })
			] }, one.id)) })]
		})
	});
}
function Upload({ one }) {
	return a("section", {
		class: "card",
		"data-upload": one.items.join(" "),
		children: [
			a("h2", { children: [
				said$5.upload(one.round),
				" ",
				a("small", { children: one.phase })
			] }),
			a("p", { children: [
				bytesText(one.bytes),
				one.countersigned && `, ${said$5.countersigned}`,
				". ",
				said$5.disclosed(percent(one.disclosed)),
				one.epsilon !== null && `, epsilon ${one.epsilon.toFixed(2)}`,
				"."
			] }),
			one.items.length ? a(TitleList, {
				name: said$5.contents,
				items: one.items
			}) : a("p", {
				class: "hint",
				children: said$5.none
			})
		]
	});
}
// src/ui/screens/my_data.tsx
var asked = y$1(!1), said$4 = texts.data;
function MyData() {
	let known = titles.value, never$1 = new Set(status.value.permission.never);
	return a($, { children: [
		a("h1", { children: said$4.title }),
		a("p", {
			class: "lead",
			children: said$4.lead
		}),
		a("section", {
			class: "card",
			children: [
				a("h2", { children: said$4.likes(likes.value.length) }),
				a("p", {
					class: "hint",
					children: said$4.neverHint
				}),
				a("ul", {
					class: "plain",
					children: likes.value.map(({ item }) => a("li", {
						class: "line",
						children: [a("span", { children: known.text(item) }), a("button", {
							class: "quiet",
							"aria-pressed": never$1.has(item),
							onClick: () => void never(item, !never$1.has(item)),
							children: [said$4.never, a("span", {
								class: "hidden",
								children: [": ", known.text(item)]
							})]
						})]
					}, item))
				})
			]
		}),
		a("section", {
			class: "card",
			children: [
				a("h2", { children: said$4.move }),
				a("p", {
					class: "hint",
					children: said$4.moveHint
				}),
				a("button", {
					class: "button",
					onClick: () => void guarded(async () => saveFile("murmura-device.json", await theDevice().exportAll())),
					children: said$4.download
				}),
				a("p", { children: a("label", { children: [
					said$4.restore,
					" ",
					a("input", {
						type: "file",
						accept: ".json",
						onChange: ({ currentTarget }) => void restore(currentTarget)
					})
				] }) })
			]
		}),
		a(Remove, {})
	] });
}
function Remove() {
	return a("section", {
		class: "card",
		children: [
			a("h2", { children: said$4.remove }),
			a("p", {
				class: "hint",
				children: said$4.honest
			}),
			asked.value ? a("div", {
				role: "alertdialog",
				"aria-label": said$4.sure,
				children: [a("p", { children: said$4.sure }), a("div", {
					class: "choice",
					children: [a("button", {
						class: "button danger",
						onClick: () => void erase(),
						children: said$4.yes
					}), a("button", {
						class: "button",
						onClick: () => asked.value = !1,
						children: said$4.no
					})]
				})]
			}) : a("button", {
				class: "button danger",
				onClick: () => asked.value = !0,
				children: said$4.remove
			})
		]
	});
}
async function restore(input) {
	let file = input.files?.[0];
	file && (await guarded(async () => {
		await theDevice().restore(await file.text()), location.reload();
	}), input.value = "");
}
var measured_default = {
	observer: [
		{
			method: "cfpl",
			cohort: 100,
			epsilon: null,
			value: .595
		},
		{
			method: "cfpl",
			cohort: 500,
			epsilon: null,
			value: .604
		},
		{
			method: "cfpl",
			cohort: 1e3,
			epsilon: null,
			value: .593
		},
		{
			method: "cfpl",
			cohort: 500,
			epsilon: 4,
			value: .5
		},
		{
			method: "cfpl",
			cohort: 500,
			epsilon: 8,
			value: .505
		}
	],
	everyone: [
		{
			method: "fed-ease",
			pi: 1,
			value: .1347
		},
		{
			method: "fed-ease",
			pi: .1,
			value: .1132
		},
		{
			method: "fed-item-knn",
			pi: 1,
			value: .137
		},
		{
			method: "fed-item-knn",
			pi: .1,
			value: .1103
		}
	],
	levels: [
		{
			method: "fed-ease",
			pi: .1,
			epsilon: null,
			without: .10927,
			lists: .10911,
			found: .6161
		},
		{
			method: "fed-ease",
			pi: .25,
			epsilon: null,
			without: .10927,
			lists: .10854,
			found: .61992
		},
		{
			method: "fed-ease",
			pi: .5,
			epsilon: null,
			without: .10927,
			lists: .10806,
			found: .74599
		},
		{
			method: "fed-ease",
			pi: .75,
			epsilon: null,
			without: .10927,
			lists: .10919,
			found: .87098
		}
	],
	data: "MovieLens 1M"
};
// src/ui/measured.ts
function observerText({ method, epsilon, minimum }, pi) {
	let found = measured_default.observer.find((one) => one.method === method && one.epsilon === epsilon && one.cohort === minimum);
	if (!found) return texts.measured.notMeasured(minimum);
	let said = texts.measured.matched(Math.round(100 * found.value), found.cohort), where = texts.measured.observed(measured_default.data);
	return pi === 1 ? `${said} ${where}` : `${texts.measured.otherShare} ${said} ${where}`;
}
function levelText({ method, epsilon }, pi) {
	let found = measured_default.levels.find((one) => one.method === method && one.epsilon === epsilon && Math.abs(one.pi - pi) < .005);
	if (!found) return texts.share.notMeasured;
	let [lists, without] = [found.lists, found.without].map((one) => (100 * one).toFixed(1));
	return texts.measured.level(lists, without, Math.round(100 * found.found), measured_default.data);
}
function everyoneText({ method }, pi) {
	let found = measured_default.everyone.find((one) => one.method === method && Math.abs(one.pi - pi) < .005);
	return found ? texts.measured.everyone((100 * found.value).toFixed(1), measured_default.data) : texts.share.notMeasured;
}
// src/ui/screens/message_preview.tsx
var ROWS = 12, said$3 = texts.share;
function MessagePreview({ of }) {
	return a("section", {
		class: "message",
		"data-preview": !0,
		children: [
			a("h2", { children: said$3.previewTitle }),
			a("ul", { children: of.messages.map(({ to, purpose, bytes }) => a("li", { children: [
				said$3.previewWhere(bytesText(bytes), to),
				" ",
				a("small", { children: texts.left.purposes[purpose] ?? purpose })
			] }, to + purpose)) }),
			of.update?.tables.map((table) => a(Rows, { table }, table.name)),
			a("button", {
				class: "quiet",
				onClick: () => saveFile("murmura-message.json", text(of)),
				children: said$3.download
			})
		]
	});
}
function Rows({ table: { name, width, index, values } }) {
	let largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1, known = titles.value, order = Array.from(index, (item, row) => ({
		item,
		row
	})).sort((one, other) => Number(liked.value.has(other.item)) - Number(liked.value.has(one.item)));
	return a($, { children: [
		a("p", { children: [
			name,
			": ",
			said$3.previewRows(index.length)
		] }),
		a("table", {
			class: "strips",
			children: a("tbody", { children: order.slice(0, ROWS).map(({ item, row }) => a("tr", { children: [a("th", {
				scope: "row",
				children: [liked.value.has(item) ? "♥ " : "", known.text(item)]
			}), a("td", { children: a("svg", {
				viewBox: `0 0 ${width * 6} 12`,
				width: width * 6,
				height: "12",
				role: "img",
				"aria-label": `${width}`,
				children: Array.from({ length: width }, (_, place) => {
					let value = values[row * width + place] / largest;
					return a("rect", {
						x: 6 * place,
						y: "0",
						width: "5",
						height: "12",
						class: value < 0 ? "down" : "up",
						opacity: .08 + .92 * Math.abs(value)
					}, place);
				})
			}) })] }, row)) })
		}),
		index.length > ROWS && a("p", {
			class: "hint",
			children: said$3.previewMore(index.length - ROWS)
		})
	] });
}
function text({ phase, pi, messages, update, vector }) {
	let tables = update?.tables.map(({ name, width, index, values }) => ({
		name,
		width,
		items: [...index],
		values: [...values]
	}));
	return JSON.stringify({
		phase,
		pi,
		messages: messages.map(({ to, purpose, bytes }) => ({
			to,
			purpose,
			bytes
		})),
		tables,
		vector: [...vector]
	}, (_, value) => typeof value == "bigint" ? String(value) : value, 1);
}
// src/ui/screens/share.tsx
var STOPS = [
	0,
	.1,
	.5,
	1
], SMALL = 100, chosen = y$1(null), found = y$1(null), opened = y$1(!1), allowed = y$1(!1), done = y$1(""), newestPreview = newest((made) => void (found.value = made ?? null)), said$2 = texts.share;
function Share() {
	let { permission, federation, stage } = status.value, facts = federation, now = permission.train ? permission.pi : 0, pi = chosen.value ?? now;
	if (A$1(() => {
		found.value = null, newestPreview(async () => pi > 0 ? guarded(() => theDevice().preview(pi)) : null);
	}, [pi, likes.value]), !likes.value.length) return a("section", {
		class: "card centre",
		children: [a("p", { children: said$2.need }), a("a", {
			class: "button",
			href: "#/start",
			children: texts.forYou.pick
		})]
	});
	let closed = stage !== "member" && !facts.invited, asked = facts.exact && !facts.exactAllowed;
	return a($, { children: [
		a("h1", { children: said$2.title }),
		a("p", {
			class: "lead",
			children: said$2.lead
		}),
		closed && a("p", {
			class: "card",
			children: said$2.invitation
		}),
		facts.minimum < SMALL && a("p", {
			class: "card warn",
			children: said$2.small(facts.minimum)
		}),
		a("section", {
			class: "card",
			"aria-label": said$2.slider,
			children: [
				a("p", {
					class: "stage",
					children: [
						a("output", {
							"data-share": !0,
							children: percent(pi)
						}),
						" ",
						a("span", {
							class: "hint",
							children: said$2.now(percent(now))
						})
					]
				}),
				a("input", {
					type: "range",
					min: "0",
					max: "100",
					step: "1",
					value: Math.round(100 * pi),
					"aria-label": said$2.slider,
					"aria-valuetext": percent(pi),
					onInput: ({ currentTarget }) => chosen.value = Number(currentTarget.value) / 100
				}),
				a("div", {
					class: "stops",
					children: STOPS.map((stop, place) => a("button", {
						class: "quiet",
						"aria-pressed": pi === stop,
						onClick: () => chosen.value = stop,
						children: said$2.stops[place]
					}, stop))
				}),
				a("dl", {
					class: "facts",
					children: [
						a("dt", { children: said$2.leaves }),
						a("dd", { children: a(Leaves, { pi }) }),
						a("dt", { children: said$2.observer }),
						a("dd", { children: pi === 0 ? said$2.observerNothing : a($, { children: [a("p", { children: facts.epsilon === null ? said$2.noNoise.replace("{n}", String(facts.minimum)) : said$2.epsilon(String(facts.epsilon), facts.against) }), a("p", { children: observerText(facts, pi) })] }) }),
						a("dt", { children: said$2.lose }),
						a("dd", { children: [
							a("p", { children: said$2.loseList }),
							pi > 0 && pi < 1 && a("p", { children: [
								said$2.loseAlone,
								": ",
								levelText(facts, pi)
							] }),
							pi > 0 && a("p", { children: [
								said$2.loseAll,
								": ",
								everyoneText(facts, pi)
							] })
						] })
					]
				}),
				a("p", {
					class: "hint",
					children: said$2.limit
				}),
				pi > 0 && found.value && a("button", {
					class: "quiet",
					"aria-expanded": opened.value,
					onClick: () => opened.value = !opened.value,
					children: said$2.preview
				}),
				pi > 0 && opened.value && found.value && a(MessagePreview, { of: found.value }),
				asked && !closed && a(Exact, {}),
				a("div", {
					class: "choice",
					children: [a("button", {
						class: "button",
						onClick: () => void use(0),
						children: said$2.keep
					}), a("button", {
						class: "button",
						disabled: pi === 0 || closed || asked && !allowed.value,
						onClick: () => void use(pi),
						children: [
							said$2.use,
							": ",
							percent(pi)
						]
					})]
				}),
				a("p", {
					"aria-live": "polite",
					"data-said": !0,
					children: done.value
				})
			]
		})
	] });
}
function Leaves({ pi }) {
	let made = found.value;
	return pi === 0 || !made ? a("p", { children: pi === 0 ? said$2.leavesNothing : texts.loading }) : a($, { children: [
		a("p", {
			"data-leaves": !0,
			children: said$2.leavesSome(made.shared.length, made.shared.length + made.kept.length, bytesText(made.bytes))
		}),
		made.shared.length === 0 && a(NoneUsed, {
			pi,
			all: made.kept.length
		}),
		a(TitleList, {
			name: said$2.titles,
			items: made.shared
		}),
		a(TitleList, {
			name: said$2.hidden,
			items: made.kept
		})
	] });
}
function NoneUsed({ pi, all }) {
	let { never } = status.value.permission, free = likes.value.filter(({ item }) => !never.includes(item)).length, place = STOPS.findIndex((stop) => stop > pi && stickyLimit(stop, all) > 0 && free > 0);
	return a("p", {
		"data-none-used": !0,
		children: [
			said$2.noneUsed,
			" ",
			place > 0 && a("button", {
				class: "quiet",
				onClick: () => chosen.value = STOPS[place],
				children: said$2.next(said$2.stops[place], percent(STOPS[place]))
			})
		]
	});
}
function Exact() {
	return a("label", {
		class: "warn",
		"data-exact": !0,
		children: [
			a("input", {
				type: "checkbox",
				checked: allowed.value,
				onChange: ({ currentTarget }) => allowed.value = currentTarget.checked
			}),
			" ",
			said$2.exact
		]
	});
}
async function use(pi) {
	let before = (ledger.value?.entries.length ?? 0) > 0;
	await share(pi, allowed.value) && (chosen.value = null, done.value = pi === 0 ? before ? said$2.stopped : said$2.leavesNothing : said$2.now(percent(pi)));
}
// src/ui/own_file.ts
var LARGEST = 20, LIKED = 4, ITEM = [
	"item",
	"itemid",
	"movieid",
	"item_id",
	"movie_id",
	"movie",
	"id"
], NAME = [
	"title",
	"name",
	"film"
], TIME = [
	"timestamp",
	"time",
	"date"
], said$1 = texts.errors.file;
async function readOwnFile(file, titles, find) {
	if (file.size > LARGEST * 1e6) throw new DeviceError(said$1.large(LARGEST));
	return ownRows(await file.text(), titles, find);
}
function ownRows(text, titles, find) {
	let lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).filter((line) => line.trim());
	if (!lines.length) throw new DeviceError(said$1.empty);
	let separator = [
		"::",
		"	",
		";",
		","
	].find((one) => lines[0].includes(one)) ?? "", cells = lines.map((line) => split(line, separator)), { columns, first } = layout(cells[0]), rows = cells.slice(first);
	if (!rows.length) throw new DeviceError(said$1.empty);
	let people = columns.user < 0 ? 1 : new Set(rows.map((row) => row[columns.user])).size;
	if (people > 1) throw new DeviceError(said$1.people(people));
	let rated = columns.value >= 0 && rows.some((row) => Number(row[columns.value]) > 1), liked = rows.filter((row) => !rated || Number(row[columns.value]) >= LIKED), items = columns.name >= 0 ? liked.map((row) => titles.find(row[columns.name] ?? "")) : find(liked.map((row) => row[columns.item] ?? "")), likes = new Map();
	if (items.forEach((item, place) => {
		item !== null && likes.set(item, {
			item,
			value: 1,
			time: moment(liked[place][columns.time])
		});
	}), !likes.size) throw new DeviceError(said$1.unknown);
	return {
		likes: [...likes.values()],
		rows: liked.length,
		note: rated ? said$1.rated(LIKED) : ""
	};
}
function layout(header) {
	let names = header.map((one) => one.trim().toLowerCase()), at = (some) => names.findIndex((one) => some.includes(one)), columns = {
		user: at([
			"user",
			"userid",
			"user_id"
		]),
		item: at(ITEM),
		name: at(NAME),
		value: at([
			"rating",
			"value",
			"stars"
		]),
		time: at(TIME)
	};
	if (columns.item >= 0 || columns.name >= 0) return {
		columns,
		first: 1
	};
	if (header.every((one) => one.trim() !== "" && Number.isFinite(Number(one))) && header.length >= 3) return {
		columns: {
			user: 0,
			item: 1,
			name: -1,
			value: 2,
			time: header.length > 3 ? 3 : -1
		},
		first: 0
	};
	if (header.length === 1) return {
		columns: {
			user: -1,
			item: -1,
			name: 0,
			value: -1,
			time: -1
		},
		first: 0
	};
	throw new DeviceError(said$1.columns(header.join(", ").slice(0, 80)));
}
function split(line, separator) {
	if (separator === "::" || separator === "	") return line.split(separator);
	let cells = [], cell = "", quoted = !1;
	for (let place = 0; place < line.length; place++) {
		let one = line[place];
		one === "\"" && quoted && line[place + 1] === "\"" ? cell += line[++place] : one === "\"" ? quoted = !quoted : one === separator && !quoted ? (cells.push(cell), cell = "") : cell += one;
	}
	return [...cells, cell];
}
function moment(text) {
	if (!text?.trim()) return null;
	let number = Number(text), seconds = Number.isFinite(number) ? number : Date.parse(text) / 1e3;
	return Number.isFinite(seconds) && seconds > 0 ? Math.floor(seconds) : null;
}
// src/ui/screens/item_row.tsx
function ItemRow({ item }) {
	let { name, year, kinds } = titles.value.of(item), on = liked.value.has(item);
	return a("li", { children: a("button", {
		class: on ? "item on" : "item",
		"aria-pressed": on,
		onClick: () => void toggle(item),
		children: [
			a("span", {
				class: "title",
				children: [
					a("span", {
						class: "hidden",
						children: [texts.forYou.like, " "]
					}),
					name,
					" ",
					a("small", { children: year })
				]
			}),
			a("span", {
				class: "kinds",
				children: kinds.slice(0, 3).join(" · ")
			}),
			a("svg", {
				class: "heart",
				viewBox: "0 0 24 24",
				"aria-hidden": "true",
				children: a("path", { d: "M12 20s-7-4.600-7-9.600A4.100 4.100 0 0 1 12 7a4.100 4.100 0 0 1 7 3.400c0 5-7 9.600-7 9.600z" })
			})
		]
	}) });
}
// src/ui/screens/start.tsx
var FOUND = 12, SAMPLES = 4, wanted = y$1(""), note = y$1(""), said = texts.start;
function Start() {
	let known = titles.value, mine = likes.value, found = known.search(wanted.value, FOUND, (item) => popularity.value.get(item) ?? 1e6), shown = wanted.value.trim() ? found : (popular.value?.list ?? []).slice(0, FOUND).map(({ item }) => item);
	return a("div", {
		class: "two",
		children: [a("section", { children: [
			a("h1", { children: said.title }),
			a("p", {
				class: "lead",
				children: said.promise
			}),
			a("label", {
				class: "search",
				children: [a("span", {
					class: "hidden",
					children: said.search
				}), a("input", {
					type: "search",
					placeholder: said.search,
					value: wanted.value,
					autocomplete: "off",
					onInput: ({ currentTarget }) => wanted.value = currentTarget.value
				})]
			}),
			a("h2", { children: wanted.value.trim() ? said.search : said.popular }),
			shown.length ? a("ul", {
				class: "items",
				children: shown.map((item) => a(ItemRow, { item }, item))
			}) : a("p", {
				class: "hint",
				children: said.none
			})
		] }), a("aside", { children: [
			a("section", {
				class: "card",
				children: [
					a("h2", { children: said.yours(mine.length) }),
					mine.length ? a("ul", {
						class: "chips",
						children: mine.map(({ item }) => a("li", { children: a("button", {
							onClick: () => void toggle(item),
							"aria-label": said.remove(known.text(item)),
							children: [
								known.text(item),
								" ",
								a("b", {
									"aria-hidden": "true",
									children: "×"
								})
							]
						}) }, item))
					}) : a("p", {
						class: "hint",
						children: said.nothing
					}),
					a("p", {
						"aria-live": "polite",
						children: mine.length >= 5 ? said.enough : mine.length > 0 && said.fewer(5 - mine.length)
					}),
					mine.length > 0 && a("a", {
						class: "button",
						href: "#/for-you",
						children: said.see
					})
				]
			}),
			a(Samples, {}),
			a("section", {
				class: "card",
				children: [
					a("h2", { children: said.open }),
					a("p", {
						class: "hint",
						children: said.openHint
					}),
					a("input", {
						type: "file",
						"aria-label": said.open,
						accept: ".csv,.dat,.data,.tsv,.txt",
						onChange: ({ currentTarget }) => void open(currentTarget)
					}),
					a("p", {
						"aria-live": "polite",
						children: note.value
					})
				]
			})
		] })]
	});
}
function Samples() {
	let known = titles.value, best = (popular.value?.list ?? []).map(({ item }) => item), kinds = known.kinds().slice(1).filter((kind) => best.filter((item) => known.of(item).kinds.includes(kind)).length >= 5);
	if (!kinds.length) return null;
	let show = (kind) => {
		lookAs({
			kind,
			likes: best.filter((item) => known.of(item).kinds.includes(kind)).slice(0, 5).map((item) => ({
				item,
				value: 1,
				time: null
			}))
		}), location.hash = "#/for-you";
	};
	return a("section", {
		class: "card",
		children: [
			a("h2", { children: said.samples }),
			a("p", {
				class: "hint",
				children: said.samplesHint
			}),
			a("ul", {
				class: "chips",
				children: kinds.slice(0, SAMPLES).map((kind) => a("li", { children: a("button", {
					"aria-pressed": persona.value?.kind === kind,
					onClick: () => show(kind),
					children: said.sample(kind)
				}) }, kind))
			})
		]
	});
}
async function open(input) {
	let file = input.files?.[0];
	file && (await guarded(async () => {
		let found = await readOwnFile(file, titles.value, (labels) => theDevice().find(labels));
		await like(found.likes), note.value = said.opened(found.likes.length, found.rows, found.note);
	}), input.value = "");
}
// src/ui/app.tsx
var shown = {
	start: Start,
	"for-you": ForYou,
	share: Share,
	left: Left,
	data: MyData,
	how: How
}, icons = {
	start: "M12 20s-7-4.6-7-9.6A4.1 4.1 0 0 1 12 7a4.1 4.1 0 0 1 7 3.4c0 5-7 9.6-7 9.6z",
	"for-you": "M4 6h16M4 12h16M4 18h10",
	share: "M12 15V4m0 0L8 8m4-4 4 4M5 13v6h14v-6",
	left: "M5 4h14v16l-3-2-2 2-2-2-2 2-2-2-3 2zM8 9h8M8 13h5",
	data: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7 8c.6-4 3.400-6 7-6s6.400 2 7 6",
	how: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zm0-4v-5m0-4v.1"
};
function App() {
	let Shown = shown[screen.value];
	return a($, { children: [
		a("a", {
			class: "skip",
			href: "#main",
			children: texts.screens[screen.value]
		}),
		a("header", { children: [
			a("a", {
				class: "name",
				href: "#/how",
				children: [a("img", {
					src: "/icon.svg",
					alt: "",
					width: "28",
					height: "28"
				}), texts.name]
			}),
			a(Pill, {}),
			status.value?.permission.train && a("button", {
				class: "quiet",
				onClick: () => void pause(!paused.value),
				"aria-pressed": paused.value,
				children: paused.value ? texts.resume : texts.pause
			}),
			a("span", {
				class: online.value ? "dot on" : "dot",
				role: "img",
				title: online.value ? texts.online : texts.offline,
				"aria-label": online.value ? texts.online : texts.offline
			})
		] }),
		a("nav", {
			"aria-label": texts.name,
			children: SCREENS.map((one) => a("a", {
				href: `#/${one}`,
				"aria-current": one === screen.value ? "page" : void 0,
				children: [a("svg", {
					viewBox: "0 0 24 24",
					"aria-hidden": "true",
					children: a("path", { d: icons[one] })
				}), a("span", { children: texts.screens[one] })]
			}, one))
		}),
		a("main", {
			id: "main",
			tabIndex: -1,
			children: [a("div", {
				role: "alert",
				children: trouble.value && a("p", {
					class: "trouble",
					children: [trouble.value, a("button", {
						class: "quiet",
						onClick: () => trouble.value = "",
						children: texts.close
					})]
				})
			}), gone.value === null ? titles.value ? a(Shown, {}) : screen.value === "data" ? a(Remove, {}) : !trouble.value && a("p", {
				class: "loading",
				children: texts.loading
			}) : a(Gone, {})]
		})
	] });
}
function Pill() {
	let undeclared = meter.value?.undeclared.length ?? 0, some = (ledger.value?.entries.length ?? 0) > 0;
	return a("a", {
		class: undeclared ? "pill alarm" : some ? "pill some" : "pill",
		href: "#/left",
		"data-pill": !0,
		children: pillText({
			ledger: ledger.value,
			deleted: gone.value !== null,
			paused: paused.value,
			undeclared
		})
	});
}
function Gone() {
	return a("section", {
		class: "card centre",
		children: [
			a("p", { children: texts.data.deleted }),
			gone.value && a("p", {
				class: "hint",
				children: texts.data.left(gone.value)
			}),
			a("a", {
				class: "button",
				href: "/",
				children: texts.data.again
			})
		]
	});
}
// src/ui/main.tsx
var WORKER = "/assets/training_worker.js", METER = "/sw.js", PATIENCE = 4e3, rules = { createScriptURL(url) {
	if (url !== WORKER && url !== METER) throw TypeError(`${url} is no script of this page`);
	return url;
} }, scripts = window.trustedTypes?.createPolicy("murmura", rules) ?? rules;
async function meterBegins() {
	if (navigator.serviceWorker) {
		try {
			await navigator.serviceWorker.register(scripts.createScriptURL(METER), { updateViaCache: "none" });
		} catch {
			return;
		}
		navigator.serviceWorker.controller || await new Promise((resolve) => {
			navigator.serviceWorker.addEventListener("controllerchange", () => resolve(), { once: !0 }), setTimeout(resolve, PATIENCE);
		});
	}
}
function follow() {
	location.hash.startsWith("#2.") && location.reload();
	let wanted = location.hash.slice(2);
	location.hash.startsWith("#/") && SCREENS.includes(wanted) && (screen.value = wanted, scrollTo(0, 0));
}
async function main() {
	let root = document.getElementById("app");
	online.value = navigator.onLine;
	for (let one of ["online", "offline"]) window.addEventListener(one, () => void (online.value = one === "online"));
	window.addEventListener("hashchange", follow), Q(a(App, {}), root), await meterBegins(), await guarded(async () => {
		await begin(new Worker(scripts.createScriptURL(WORKER), { type: "module" })), follow();
	}), root.dataset.ready = "true";
}
main().catch(() => {
	document.getElementById("app").textContent = texts.errors.worker;
});
export { __commonJSMin as t };
