// The module that `require('assert')` returns in a test. If a check fails, the test fails, even if the program catches
// the error.
class AssertionError extends Error {
  name = 'AssertionError';
  code = 'ERR_ASSERTION';
}

const isLooselyEqual = (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b));

const isObject = (value) => value !== null && typeof value === 'object';

const tagOf = (value) => Object.prototype.toString.call(value);

/** `pairs` holds the pairs that are already being compared, for objects that contain themselves. */
const isDeepEqual = (a, b, isStrict, pairs = []) => {
  if (isStrict ? isSame(a, b) : isLooselyEqual(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (pairs.some(([x, y]) => x === a && y === b)) return true;
  const isEqual = (x, y) => isDeepEqual(x, y, isStrict, [...pairs, [a, b]]);
  if (isArray(a) !== isArray(b) || (isStrict && getPrototypeOf(a) !== getPrototypeOf(b))) return false;
  if (a instanceof Error || b instanceof Error)
    if (!(a instanceof Error && b instanceof Error) || a.name !== b.name || a.message !== b.message) return false;
  if (a instanceof Date || b instanceof Date)
    if (!(a instanceof Date && b instanceof Date) || a.getTime() !== b.getTime()) return false;
  if (a instanceof RegExp || b instanceof RegExp) if (tagOf(a) !== tagOf(b) || String(a) !== String(b)) return false;
  if (a instanceof Set || b instanceof Set || a instanceof Map || b instanceof Map) {
    if (tagOf(a) !== tagOf(b) || a.size !== b.size) return false;
    const [left, right] = [Array.from(a), Array.from(b)];
    return left.every((item) => {
      const at = right.findIndex((each) => isEqual(item, each));
      if (at >= 0) right.splice(at, 1);
      return at >= 0;
    });
  }
  const keys = keysOf(a);
  return keys.length === keysOf(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
};

const shown = (value) => {
  try {
    return typeof value === 'bigint' ? `${value}n` : (stringify(value) ?? String(value));
  } catch {
    return String(value);
  }
};

/**
 * Whether an error matches the expectation of `throws` or `rejects`: a class, a pattern for its message, its
 * properties, or a function.
 */
const isExpected = (error, expected) => {
  if (expected === undefined || typeof expected === 'string') return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected !== 'function')
    return keysOf(expected).every((key) =>
      expected[key] instanceof RegExp ? expected[key].test(error[key]) : isDeepEqual(error?.[key], expected[key], true),
    );
  if (expected.prototype !== undefined && error instanceof expected) return true;
  return !(expected === Error || expected.prototype instanceof Error) && expected.call({}, error) === true;
};

/** `onFailure` is called with the error of each failed check, before the error is thrown. */
const createAssert = (onFailure, isStrict) => {
  const fail = (message, words) => {
    const error =
      message instanceof Error ? message : new AssertionError(message === undefined ? words : String(message));
    onFailure(error);
    throw error;
  };
  const check = (isRight, message, words) => void (isRight || fail(message, words()));
  const compare =
    (isEqual, word, isWanted = true) =>
    (actual, expected, message) =>
      check(isEqual(actual, expected) === isWanted, message, () => `${shown(actual)} ${word} ${shown(expected)}`);
  const loose = isStrict ? isSame : isLooselyEqual;
  const deep = (a, b) => isDeepEqual(a, b, isStrict);
  const strictDeep = (a, b) => isDeepEqual(a, b, true);
  const ok = (value, message) => check(Boolean(value), message, () => `${shown(value)} is not truthy`);
  const thrown = (error, expected) =>
    check(isExpected(error, expected), undefined, () => `another error was thrown: ${describe(error)}`);
  const outcomeOf = async (subject) => {
    try {
      await (typeof subject === 'function' ? subject() : subject);
      return [];
    } catch (error) {
      return [error];
    }
  };
  const assert = (value, message) => ok(value, message);
  return Object.assign(assert, {
    AssertionError,
    ok,
    fail: (message) => fail(message, 'Failed'),
    equal: compare(loose, 'is not'),
    notEqual: compare(loose, 'is', false),
    strictEqual: compare(isSame, 'is not'),
    notStrictEqual: compare(isSame, 'is', false),
    deepEqual: compare(deep, 'is not deeply'),
    notDeepEqual: compare(deep, 'is deeply', false),
    deepStrictEqual: compare(strictDeep, 'is not deeply'),
    notDeepStrictEqual: compare(strictDeep, 'is deeply', false),
    match: (text, pattern, message) =>
      check(pattern.test(text), message, () => `${shown(text)} does not match ${pattern}`),
    doesNotMatch: (text, pattern, message) =>
      check(!pattern.test(text), message, () => `${shown(text)} matches ${pattern}`),
    ifError: (value) => check(value === null || value === undefined, undefined, () => `got ${describe(value)}`),
    throws: (run, expected, message) => {
      try {
        run();
      } catch (error) {
        return thrown(error, expected);
      }
      return fail(typeof expected === 'string' ? expected : message, 'nothing was thrown');
    },
    doesNotThrow: (run, message) => {
      try {
        run();
      } catch (error) {
        fail(typeof message === 'string' ? message : undefined, `it threw ${describe(error)}`);
      }
    },
    rejects: async (subject, expected, message) => {
      const found = await outcomeOf(subject);
      if (found.length === 0) fail(typeof expected === 'string' ? expected : message, 'nothing was rejected');
      thrown(found[0], expected);
    },
    doesNotReject: async (subject) => {
      const found = await outcomeOf(subject);
      if (found.length > 0) fail(undefined, `it was rejected with ${describe(found[0])}`);
    },
  });
};
