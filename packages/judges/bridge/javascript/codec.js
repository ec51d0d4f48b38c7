// Encodes values as JSON between the deciding interpreter and the program's. Both run this file and neither trusts the
// other: decoding builds plain values and proxies of the other side's objects, and never runs anything that a message
// names.
const { stringify, parse } = JSON;
const { isArray } = Array;
const { getPrototypeOf, defineProperty, getOwnPropertyDescriptor, is: isSame, keys: keysOf } = Object;
const { ownKeys } = Reflect;
const maxDepth = 150;

const errorTypes = { Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };
const prototypes = new Map(
  [Object, Function, Array, Map, Set, Promise, Date, RegExp, ...Object.values(errorTypes)].map((type) => [
    type.prototype,
    type.name,
  ]),
);
const prototypeOf = new Map([...prototypes].map(([prototype, name]) => [name, prototype]));
const symbols = ['iterator', 'asyncIterator', 'toPrimitive', 'toStringTag', 'hasInstance'];
const arrayTypes = new Map(
  [
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
  ].map((type) => [type.prototype, type]),
);
const arrayTypeOf = new Map([...arrayTypes.values()].map((type) => [type.name, type]));

/** The kind of a container, whose changes cross too. Null if the value is not a container. */
const containerOf = (value) => {
  const prototype = getPrototypeOf(value);
  if (prototype === Array.prototype && isArray(value)) return 'a';
  if (prototype === Map.prototype) return 'M';
  if (prototype === Set.prototype) return 'S';
  if (arrayTypes.has(prototype)) return 'T';
  return (prototype === Object.prototype || prototype === null) && isRecord(value) ? 'd' : null;
};

/** True for an object that holds only values. An object with methods is treated as any other object. */
const isRecord = (value) => {
  for (const key of ownKeys(value)) {
    const described = getOwnPropertyDescriptor(value, key);
    if (typeof key === 'symbol' || !('value' in described) || !described.enumerable) return false;
    if (typeof described.value === 'function') return false;
  }
  return true;
};

/** Lists the content of a container in one flat array. */
const flat = (kind, value) => {
  const items = [];
  const add = (item) =>
    defineProperty(items, items.length, { value: item, configurable: true, enumerable: true, writable: true });
  if (kind === 'a' || kind === 'T') for (let at = 0; at < value.length; at++) add(value[at]);
  else if (kind === 'S') Set.prototype.forEach.call(value, (item) => add(item));
  else if (kind === 'M')
    Map.prototype.forEach.call(value, (item, key) => {
      add(key);
      add(item);
    });
  else for (const key of keysOf(value)) add(key), add(value[key]);
  return items;
};

const define = (object, key, value) =>
  defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });

const fill = (kind, value, items) => {
  if (kind === 'a') {
    value.length = 0;
    for (let at = 0; at < items.length; at++) define(value, at, items[at]);
  } else if (kind === 'T') {
    for (let at = 0; at < items.length && at < value.length; at++) value[at] = items[at];
  } else if (kind === 'd') {
    for (const key of keysOf(value)) delete value[key];
    for (let at = 0; at < items.length; at += 2) define(value, String(items[at]), items[at + 1]);
  } else if (kind === 'S') {
    Set.prototype.clear.call(value);
    for (const item of items) Set.prototype.add.call(value, item);
  } else {
    Map.prototype.clear.call(value);
    for (let at = 0; at < items.length; at += 2) Map.prototype.set.call(value, items[at], items[at + 1]);
  }
};

const isChanged = (before, now) => {
  if (before.length !== now.length) return true;
  for (let at = 0; at < now.length; at++) if (!isSame(before[at], now[at])) return true;
  return false;
};

class BadMessage extends Error {}

/** The deciding side uses even numbers for its objects, and the program's side odd ones. */
class Codec {
  constructor(first) {
    this.lastNumber = first;
    this.mine = new Map(); // number -> an object of this side
    this.numbers = new WeakMap(); // an object of either side, or a container -> number
    this.theirs = new Map(); // number -> proxy
    this.shared = new Map(); // number -> { kind, held, before }
    this.waiting = new Map(); // number -> functions that settle a promise of the other side
    this.settled = []; // promises of this side that have settled since the last message
    this.depth = 0;
  }

  number() {
    this.lastNumber += 2;
    return this.lastNumber;
  }

  encode(value) {
    if (++this.depth > maxDepth) {
      this.depth = 0;
      throw new TypeError('The value is nested too deeply to cross.');
    }
    try {
      return this.encodeValue(value);
    } finally {
      this.depth -= 1;
    }
  }

  encodeValue(value) {
    if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
    if (value === undefined) return ['u'];
    if (typeof value === 'number')
      return Number.isFinite(value) && !isSame(value, -0) ? value : ['f', isSame(value, -0) ? '-0' : `${value}`];
    if (typeof value === 'bigint') return ['i', `${value}`];
    if (typeof value === 'symbol') return this.encodeSymbol(value);
    return this.encodeObject(value);
  }

  encodeSymbol(value) {
    const name = symbols.find((each) => Symbol[each] === value);
    if (name !== undefined) return ['y', name];
    const key = Symbol.keyFor(value);
    if (key === undefined) throw new TypeError('A symbol cannot cross.');
    return ['Y', key];
  }

  encodeObject(value) {
    const known = this.numbers.get(value);
    if (known !== undefined) return [this.theirs.has(known) ? 'h' : this.shared.has(known) ? 'r' : 'o', known];
    if (prototypes.has(value)) return ['g', prototypes.get(value)];
    if (typeof value === 'function') return ['o', this.export(value), 'function'];
    const kind = containerOf(value);
    if (kind !== null) return this.encodeContainer(kind, value);
    const prototype = getPrototypeOf(value);
    if (prototype === Date.prototype) return ['D', this.encode(Date.prototype.getTime.call(value))];
    if (prototype === RegExp.prototype) return ['R', value.source, value.flags];
    if (value instanceof Error && errorTypes[prototypes.get(prototype)] !== undefined)
      return this.encodeError(value, prototypes.get(prototype));
    const number = this.export(value);
    if (value instanceof Promise) this.watch(number, value);
    return ['o', number, value instanceof Promise ? 'promise' : isArray(value) ? 'array' : 'object'];
  }

  encodeContainer(kind, value) {
    const number = this.number();
    this.share(number, kind, value);
    const items = flat(kind, value).map((item) => this.encode(item));
    const extra = kind === 'T' ? arrayTypes.get(getPrototypeOf(value)).name : getPrototypeOf(value) === null;
    return [kind, number, items, extra];
  }

  encodeError(value, type) {
    const extra = [];
    for (const key of keysOf(value)) if (typeof value[key] !== 'function') extra.push([key, this.encode(value[key])]);
    return ['e', this.export(value), type, `${value.name}`, `${value.message}`, extra];
  }

  export(value) {
    const number = this.number();
    this.mine.set(number, value);
    this.numbers.set(value, number);
    return number;
  }

  share(number, kind, value) {
    this.numbers.set(value, number);
    this.shared.set(number, { kind, held: this.hold(value), before: flat(kind, value) });
  }

  hold(value) {
    return { deref: () => value, isUnused: () => false };
  }

  watch(number, promise) {
    void Promise.prototype.then.call(
      promise,
      (value) => this.settled.push([number, true, value]),
      (error) => this.settled.push([number, false, error]),
    );
  }

  updates() {
    const changed = [];
    for (const [number, entry] of Array.from(this.shared)) {
      const value = entry.held.deref();
      if (value === undefined) continue;
      const now = flat(entry.kind, value);
      if (!isChanged(entry.before, now)) continue;
      entry.before = now;
      changed.push([number, now.map((item) => this.encode(item))]);
    }
    return changed;
  }

  /** Forgets containers on both sides once the deciding side does not use them any longer. */
  unused() {
    const unused = [];
    for (const [number, entry] of this.shared) if (entry.held.isUnused()) unused.push(number);
    for (const number of unused) this.forget(number);
    return unused;
  }

  forget(number) {
    const entry = this.shared.get(number);
    const value = entry?.held.deref();
    if (value !== undefined) this.numbers.delete(value);
    this.shared.delete(number);
  }

  decode(data) {
    if (++this.depth > maxDepth) throw new BadMessage('nested too deeply');
    try {
      return this.decodeValue(data);
    } finally {
      this.depth -= 1;
    }
  }

  decodeValue(data) {
    if (data === null || typeof data !== 'object') return data;
    if (!isArray(data)) throw new BadMessage('not a value');
    const [tag, first, second] = data;
    if (tag === 'u') return undefined;
    if (tag === 'f') return Number(first);
    if (tag === 'i') return BigInt(first);
    if (tag === 'y' && symbols.includes(first)) return Symbol[first];
    if (tag === 'Y') return Symbol.for(String(first));
    if (tag === 'g' && prototypeOf.has(first)) return prototypeOf.get(first);
    if (tag === 'D') return new Date(this.decode(first));
    if (tag === 'R') return new RegExp(String(first), String(second));
    if (tag === 'r' && this.shared.has(first)) return this.shared.get(first).held.deref();
    if (tag === 'h' && this.mine.has(first)) return this.mine.get(first);
    if (tag === 'o') return this.decodeObject(first, second);
    if (tag === 'e') return this.decodeError(data);
    if ('aMSTd'.includes(tag)) return this.decodeContainer(data);
    throw new BadMessage('an unknown kind of value');
  }

  decodeContainer([kind, number, items, extra]) {
    if (!isArray(items) || this.numbersTaken(number)) throw new BadMessage('not a container');
    const value =
      kind === 'a'
        ? []
        : kind === 'M'
          ? new Map()
          : kind === 'S'
            ? new Set()
            : kind === 'T'
              ? new (arrayTypeOf.get(extra))(items.length)
              : Object.create(extra === true ? null : Object.prototype);
    this.share(number, kind, value);
    fill(
      kind,
      value,
      items.map((item) => this.decode(item)),
    );
    this.shared.get(number).before = flat(kind, value);
    return value;
  }

  numbersTaken(number) {
    return typeof number !== 'number' || this.mine.has(number) || this.theirs.has(number) || this.shared.has(number);
  }

  keep(number, value) {
    if (this.numbersTaken(number)) throw new BadMessage('a number that is taken');
    this.theirs.set(number, value);
    this.numbers.set(value, number);
    return value;
  }

  decodeObject(number, kind) {
    if (this.theirs.has(number)) return this.met(this.theirs.get(number));
    if (kind === 'promise') {
      return this.keep(number, new Promise((resolve, reject) => this.waiting.set(number, { resolve, reject })));
    }
    // A proxy can hide every property of a bound function.
    const target = kind === 'function' ? function () {}.bind() : kind === 'array' ? [] : {};
    return this.keep(number, new Proxy(target, this.handler(number, kind)));
  }

  met(proxy) {
    return proxy;
  }

  decodeError([, number, type, name, message, extra]) {
    if (this.theirs.has(number)) return this.theirs.get(number);
    const error = new (Object.hasOwn(errorTypes, type) ? errorTypes[type] : Error)(String(message));
    if (name !== type) define(error, 'name', String(name));
    for (const [key, value] of extra) define(error, String(key), this.decode(value));
    return this.keep(number, error);
  }

  apply({ u: updates = [], x: forgotten = [], s: settled = [] }) {
    for (const [number, items] of updates) {
      const entry = this.shared.get(number);
      if (entry === undefined) continue;
      const value = entry.held.deref();
      if (value === undefined) continue;
      fill(
        entry.kind,
        value,
        items.map((item) => this.decode(item)),
      );
      entry.before = flat(entry.kind, value);
    }
    for (const number of forgotten) this.forget(number);
    for (const [number, isFine, value] of settled) {
      const waiting = this.waiting.get(number);
      this.waiting.delete(number);
      waiting?.[isFine === true ? 'resolve' : 'reject'](this.decode(value));
    }
    this.progress += settled.length;
  }
}
