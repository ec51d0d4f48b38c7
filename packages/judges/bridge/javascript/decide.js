// The deciding interpreter. It runs the test. The program's names are proxies here, and the program sends only data.
const searches = new Set([
  'includes',
  'indexOf',
  'lastIndexOf',
  'every',
  'some',
  'find',
  'findIndex',
  'findLast',
  'findLastIndex',
  'startsWith',
  'endsWith',
  'search',
  'match',
  'test',
  'isSubsetOf',
  'isSupersetOf',
  'isDisjointFrom',
]);
const steps = new Set(['next', 'return', 'throw', 'then', Symbol.iterator, Symbol.asyncIterator]);
const maxIdleRounds = 2;

class Decider extends Peer {
  problem = null;
  isServing = false;
  own = new WeakSet();
  idle = 0;
  outcome = null;

  constructor() {
    super(0);
    const { get, set, describe, delete: remove } = this.operations;
    const isGiven = (target, key) =>
      this.isMine(target) && key !== 'constructor' && key !== '__proto__' && key !== 'prototype';
    const isRead = (target, key) => isGiven(target, key) && this.isOfTest(target, key);
    const isChanged = (target, key) => isGiven(target, key) && typeof target !== 'function';
    Object.assign(this.operations, {
      get: (target, key) => (isRead(target, key) ? get(target, key) : undefined),
      describe: (target, key) => (isRead(target, key) ? describe(target, key) : undefined),
      set: (target, key, value) => isChanged(target, key) && set(target, key, value),
      delete: (target, key) => isChanged(target, key) && remove(target, key),
      prototype: (target) => (typeof target === 'function' ? Function.prototype : Object.prototype),
    });
  }

  /** True for an object that was given to the program; false for one that every message can name. */
  isMine(target) {
    return this.mine.get(this.numbers.get(target)) === target;
  }

  /**
   * True for properties that the test defined itself. The program gets nothing that the language defines, such as the
   * constructor of functions.
   */
  isOfTest(target, key) {
    if (typeof target === 'function') return Object.hasOwn(target, key) && key !== 'caller' && key !== 'arguments';
    for (let holder = target; holder !== null; holder = getPrototypeOf(holder)) {
      if (!Object.hasOwn(holder, key)) continue;
      return !prototypes.has(holder) && (!isBuiltIn(holder) || steps.has(key));
    }
    return false;
  }

  encodeSymbol(value) {
    try {
      return super.encodeSymbol(value);
    } catch (error) {
      this.end('refused', 'the test gives the program a symbol');
      throw error;
    }
  }

  hold(value) {
    const weak = new WeakRef(value);
    let strong = value; // kept until its changes have been sent
    return {
      deref: () => strong ?? weak.deref(),
      isUnused: () => {
        strong = undefined;
        strong = weak.deref();
        return strong === undefined;
      },
    };
  }

  /**
   * Objects that every message can name, such as the prototype of arrays, are not passed as arguments, because a
   * callback could change them.
   */
  arguments(args) {
    this.isServing = true;
    try {
      return super.arguments(args);
    } finally {
      this.isServing = false;
    }
  }

  decodeValue(data) {
    if (this.isServing && isArray(data) && data[0] === 'g') return this.bad(new BadMessage('a prototype'));
    return super.decodeValue(data);
  }

  met(proxy) {
    this.own.delete(proxy);
    return proxy;
  }

  construct(target, args) {
    const made = super.construct(target, args);
    if (made !== null && typeof made === 'object') this.own.add(made);
    return made;
  }

  /**
   * If the test did not make the object itself, a search runs here, over the items that the object yields, and not in
   * the program.
   */
  property(target, key, kind) {
    const value = super.property(target, key);
    if (typeof value !== 'function' || kind === 'function' || !searches.has(key) || this.own.has(target)) return value;
    return (...args) => {
      if (typeof target[Symbol.iterator] !== 'function' || !(key in Array.prototype))
        throw new TypeError(
          `${key}() of an object that the test did not make itself, so the program would decide the test`,
        );
      return Array.prototype[key].apply(Array.from(target), args);
    };
  }

  show(printed) {
    if (!isArray(printed)) return;
    for (const [level, values] of printed.slice(0, 1000)) {
      if (['log', 'info', 'warn', 'error', 'debug'].includes(level))
        console[level](...values.map((value) => this.decode(value)));
    }
  }

  bad(error) {
    this.problem = `its answer cannot be read: ${error}`.slice(0, 300);
    throw error;
  }

  receive(line) {
    if (this.problem !== null) throw new BadMessage(this.problem);
    return super.receive(line);
  }

  /** Names that neither the test nor the language defines belong to the program. Assignments of the test stay here. */
  scope() {
    const assigned = new Map();
    return new Proxy(Object.create(null), {
      has: (_target, key) =>
        typeof key === 'string' && (assigned.has(key) || (!(key in globalThis) && this.ask('defines', key) === true)),
      get: (_target, key) =>
        typeof key !== 'string' ? undefined : assigned.has(key) ? assigned.get(key) : this.ask('name', key),
      set: (_target, key, value) => Boolean(assigned.set(key, value)),
    });
  }

  start(test) {
    const refused = refusalOf(test);
    if (refused !== null) return this.end('refused', refused);
    try {
      this.ask('load');
      defineProperty(globalThis, 'scopeOfTest', { value: this.scope(), configurable: true });
      const isScript = compiles(`with (this) {\n${test}\n}`);
      const value = isScript
        ? run(`with (scopeOfTest) {\n${test}\n}`)
        : run(`(async () => { with (scopeOfTest) {\n${test}\n} })()`);
      if (value !== null && typeof value === 'object' && typeof value.then === 'function')
        return void Promise.resolve(value).then(
          () => this.end('passed', ''),
          (error) => this.end('failed', describe(error)),
        );
      this.end('passed', '');
    } catch (error) {
      this.end('failed', describe(error));
    }
  }

  end(outcome, why) {
    this.outcome ??= [outcome, why];
  }

  /** The line for the host. It is empty while promises are pending. */
  round(test) {
    if (!this.isStarted) {
      this.isStarted = true;
      this.start(test);
    } else if (this.outcome === null) {
      const [before, sent] = [this.progress, this.settled.length];
      this.exchange();
      this.idle = sent > 0 || this.progress > before ? 0 : this.idle + 1;
      if (this.idle > maxIdleRounds) this.end('failed', 'a promise never settles');
    }
    if (this.problem !== null) return `!${stringify(['failed', this.problem])}`;
    return this.outcome === null ? '' : `!${stringify(this.outcome)}`;
  }

  exchange() {
    try {
      this.ask('nothing');
    } catch (error) {
      this.end('failed', describe(error));
    }
  }
}

const isBuiltIn = (holder) => {
  const described = getOwnPropertyDescriptor(holder, 'constructor');
  if (described === undefined) return false;
  return (
    typeof described.value !== 'function' ||
    /\[native code\]\s*}$/.test(Function.prototype.toString.call(described.value))
  );
};

const describe = (error) => {
  try {
    if (error !== null && typeof error === 'object' && 'message' in error)
      return `${error.name}: ${error.message}`.slice(0, 2000);
    return String(error).slice(0, 2000);
  } catch {
    return 'an error that cannot be shown';
  }
};

const compiles = (code) => {
  try {
    return typeof new Function(code) === 'function';
  } catch {
    return false;
  }
};

const isDefinedIn = (test, name) =>
  new RegExp(`\\b(?:class|function\\*?|const|let|var)\\s+${name.replaceAll('$', '\\$')}(?![\\p{L}\\p{N}_$])`, 'u').test(
    test,
  );

/** Matches the only module that a test may load. */
const assertions = /(?<![.\p{L}\p{N}_$])require\s*\(\s*(['"`])(?:node:)?assert(?:\/strict)?\1\s*\)/gu;

const helperOf = (test) => /(?<![.\p{L}\p{N}_$])(assert|expect|require)(?=\s*[.(])/u.exec(test)?.[1];

/** Finds in the source why the test cannot run against a program in another interpreter. Null if it can. */
const refusalOf = (test) => {
  if (!compiles(`with (this) {\n${test}\n}`) && !compiles(`return async () => { with (this) {\n${test}\n} }`))
    return 'the test is not JavaScript';
  const helper = helperOf(test.replace(assertions, ' '));
  if (helper !== undefined && !isDefinedIn(test, helper))
    return `the test calls ${helper}, which neither it nor JavaScript defines`;
  for (const [, base] of test.matchAll(/\bextends\s+([\p{L}_$][\p{L}\p{N}_$]*)/gu)) {
    const isKnown = base in globalThis || isDefinedIn(test, base);
    if (!isKnown) return `the test derives a class from the program's ${base}`;
  }
  return null;
};

const decider = new Decider();
// Records a failed assertion of the test, so a program that catches the error changes nothing.
console.assert = (isRight, ...values) => {
  if (isRight) return;
  const error = new Error(values.length === 0 ? 'Assertion failed' : values.map(String).join(' '));
  decider.end('failed', describe(error));
  throw error;
};
const heard = (error) => decider.end('failed', describe(error));
const asserts = { loose: createAssert(heard, false), strict: createAssert(heard, true) };
for (const each of [asserts.loose, asserts.strict]) each.strict = asserts.strict;
globalThis.require = (name) => (name.endsWith('/strict') ? asserts.strict : asserts.loose);
const testSource = given['test.js'];
(line) => (line === '' ? decider.round(testSource) : decider.serve(line));
