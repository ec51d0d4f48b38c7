import { isJsonObject } from '@agentjet/core';

/**
 * Scores a call as the public checker of BFCL scores Python functions: the right function, no unknown argument, and each
 * argument of the right type with one of the accepted values. `agree.py` compares both on 500 answers.
 */

/**
 * A value of JSON text. A number with a point or an exponent is a `Float`, because JavaScript's numbers do not keep
 * this difference.
 */
type Value = unknown;
class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

export type FunctionDoc = {
  readonly name: string;
  readonly parameters: {
    readonly properties: Readonly<Record<string, ParameterDoc>>;
    readonly required?: readonly string[];
  };
};
type ParameterDoc = { readonly type: string; readonly items?: { readonly type: string } };

export type Call = { readonly name: string; readonly arguments: string };

/**
 * The accepted values of each argument, by the name of the function. An empty string among them means that the argument
 * may be left out.
 */
export type GoldCall = Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>;

/** `gold` is the text of the gold call, because its numbers have types too. */
export function isRightCall(call: Call, functions: readonly FunctionDoc[], gold: string): boolean {
  const [[name, accepted] = []] = Object.entries(toObject(parseTyped(gold)) ?? {});
  const doc = functions.find((each) => each.name === name);
  const written = toObject(parseTyped(call.arguments));
  const values = toObject(accepted);
  if (doc === undefined || call.name !== name || written === undefined || values === undefined) return false;
  const { properties, required = [] } = doc.parameters;
  if (required.some((parameter) => !Object.hasOwn(written, parameter))) return false;
  const isLeftOut = (parameter: string): boolean => !Object.hasOwn(written, parameter);
  const mayBeLeftOut = (parameter: string): boolean => toList(values[parameter]).includes('');
  return (
    Object.keys(values).every((parameter) => !isLeftOut(parameter) || mayBeLeftOut(parameter)) &&
    Object.entries(written).every(([parameter, value]) => {
      const parameterDoc = Object.hasOwn(properties, parameter) ? properties[parameter] : undefined;
      if (parameterDoc === undefined || !Object.hasOwn(values, parameter)) return false;
      return isAccepted(value, parameterDoc, toList(values[parameter]));
    })
  );
}

/** Returns undefined if the text is not JSON. */
function parseTyped(text: string): Value {
  const marked = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, (token) =>
    token.startsWith('"') || !/[.eE]/.test(token) ? token : `{"\\u0000float":${token}}`,
  );
  try {
    return JSON.parse(marked, (_key, value: unknown) => {
      const float = isJsonObject(value) ? value['\u0000float'] : undefined;
      return typeof float === 'number' ? new Float(float) : value;
    });
  } catch {
    return undefined;
  }
}

const toObject = (value: Value): Readonly<Record<string, unknown>> | undefined =>
  isJsonObject(value) && !(value instanceof Float) ? value : undefined;
const toList = (value: Value): readonly unknown[] => (Array.isArray(value) ? value : []);

type Kind = 'string' | 'integer' | 'float' | 'boolean' | 'array' | 'dict' | 'null';

const kinds: Readonly<Record<string, Kind>> = {
  string: 'string',
  any: 'string',
  integer: 'integer',
  float: 'float',
  boolean: 'boolean',
  array: 'array',
  tuple: 'array',
  dict: 'dict',
};

function kindOf(value: Value): Kind {
  if (value === null) return 'null';
  if (value instanceof Float) return 'float';
  if (typeof value === 'number') return 'integer';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'boolean' : 'dict';
}

function isAccepted(written: Value, doc: ParameterDoc, accepted: readonly Value[]): boolean {
  const wanted = kinds[doc.type] ?? 'string';
  const value = wanted === 'float' && typeof written === 'number' ? new Float(written) : written;
  const items = wanted === 'array' ? kinds[doc.items?.type ?? ''] : undefined;
  const stated = accepted.find((each) => each !== '');
  const isOtherKind = stated !== undefined && kindOf(stated) !== wanted; // the name of a variable, for example
  if (kindOf(value) !== wanted) return isOtherKind && kindOf(value) === kindOf(stated) && isListed(value, accepted);
  if (items !== undefined && !hasItems(toList(value), items, accepted)) return false;
  if (isOtherKind) return isListed(value, accepted);
  if (wanted === 'dict') return accepted.some((each) => isSameRecord(value, each));
  if (items === 'dict') return accepted.some((each) => isSameList(toList(value), toList(each)));
  if (wanted === 'string') return accepted.some((each) => typeof each === 'string' && plain(each) === plain(value));
  if (wanted === 'array') return accepted.some((each) => isEqual(toList(each).map(plain), toList(value).map(plain)));
  return isListed(value, accepted);
}

/** Each item must have the type that the documentation names, or the type of the items in one of the accepted lists. */
function hasItems(list: readonly Value[], wanted: Kind, accepted: readonly Value[]): boolean {
  return accepted.some((each) => {
    if (!Array.isArray(each)) return true;
    const shown = each.find((item) => item !== '');
    return list.every((item) => kindOf(item) === wanted || (shown !== undefined && kindOf(item) === kindOf(shown)));
  });
}

function isSameRecord(value: Value, accepted: Value): boolean {
  const [written, values] = [toObject(value), toObject(accepted)];
  if (written === undefined || values === undefined) return false;
  const isRight = ([key, each]: readonly [string, Value]): boolean =>
    Object.hasOwn(values, key) && isListed(plain(each), toList(values[key]).map(plain));
  const isThere = ([key, each]: readonly [string, Value]): boolean =>
    Object.hasOwn(written, key) || toList(each).includes('');
  return Object.entries(written).every(isRight) && Object.entries(values).every(isThere);
}

function isSameList(written: readonly Value[], accepted: readonly Value[]): boolean {
  return written.length === accepted.length && written.every((each, index) => isSameRecord(each, accepted[index]));
}

/** Strings are compared without case, spaces and marks such as commas: "April 1, 2024" is "april 1 2024". */
function plain(value: Value): Value {
  return typeof value === 'string'
    ? value
        .replaceAll(/[ ,./\-_*^]/g, '')
        .toLowerCase()
        .replaceAll("'", '"')
    : value;
}

const isListed = (value: Value, list: readonly Value[]): boolean => list.some((each) => isEqual(each, value));

/** Equality as in Python: 3 equals 3.0, and true equals 1. */
function isEqual(left: Value, right: Value): boolean {
  const [a, b] = [toNumber(left), toNumber(right)];
  if (a !== undefined || b !== undefined) return a === b;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((each, index) => isEqual(each, right[index]));
  const [one, other] = [toObject(left), toObject(right)];
  if (one === undefined || other === undefined) return left === right;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => isEqual(one[key], other[key]));
}

function toNumber(value: Value): number | undefined {
  if (value instanceof Float) return value.value;
  return typeof value === 'number' || typeof value === 'boolean' ? Number(value) : undefined;
}
