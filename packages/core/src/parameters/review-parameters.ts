import { isDeepStrictEqual } from 'node:util';
import type { ChatRequest } from '../chat.js';
import type { JsonObject } from '../json-object.js';
import { type Protocol, type Wish } from './wish.js';
import { findUnread } from './nested-parameters.js';
import { wishes } from './wishes.js';

/** The result of checking the parameters of one request against the table. */
export type ParameterReview = {
  /** Names of parameters that have no effect. */
  readonly ignored: readonly string[];
  /** The first parameter that is refused. */
  readonly refused: RefusedParameter | undefined;
};

/** `isValue` means that another value of the parameter is accepted. `reason` continues a sentence that begins with the name. */
export type RefusedParameter = { readonly name: string; readonly reason: string; readonly isValue: boolean };

/** Checks the request as its client wrote it. A parameter that is absent or null requests nothing. */
export function reviewParameters(protocol: Protocol, given: unknown): ParameterReview {
  const { reported, refused } = entriesOf(protocol);
  const isOff = findThinkingOff(protocol, given) !== undefined;
  const wrong = refused.find(({ path, wish }) => valuesAt(given, path).some((value) => !isNeutral(wish, value)));
  return {
    ignored: [
      ...new Set([
        ...reported.flatMap((entry) => (isOff && entry.wish.asks === 'thinking' ? [] : findReported(given, entry))),
        ...findUnread(protocol, given),
      ]),
    ],
    refused: wrong && { name: wrong.name, reason: reasonOf(wrong.wish), isValue: wrong.wish.neutral !== undefined },
  };
}

/** Returns what a request asks of the chat template. */
export function readTemplateWishes(
  protocol: Protocol,
  given: unknown,
): Pick<ChatRequest, 'thinkingOff' | 'chatTemplateKwargs'> {
  const thinkingOff = findThinkingOff(protocol, given);
  const [variables] = entriesOf(protocol).variables.flatMap(({ path }) => valuesAt(given, path));
  return {
    ...(thinkingOff !== undefined && { thinkingOff }),
    // The model refuses a value that is not an object, so that the message is the same for all protocols.
    ...(variables !== undefined && { chatTemplateKwargs: variables as JsonObject }),
  };
}

/** Returns the parameter with which the client asks the model not to think. */
function findThinkingOff(protocol: Protocol, given: unknown): string | undefined {
  const asked = ({ path, prefixes }: Entry): boolean =>
    valuesAt(given, path).some((value) => prefixes.some((each) => each === String(value)));
  return entriesOf(protocol).thinkingOff.find(asked)?.name.replace(/=.*$/, '');
}

/** Returns the names of a protocol's parameters that are inside `place`, such as `modelSettings`. */
export function namesInside(protocol: Protocol, place: string): ReadonlySet<string> {
  const prefix = `${place}.`;
  const inside = wishes
    .flatMap(({ names }) => names[protocol] ?? [])
    .flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length).replace(/[.=].*$/, '')] : []));
  return new Set(inside);
}

/** Returns whether a top-level parameter needs no further check: it is a label, or `reviewParameters` has accepted it. */
export function isPassed(protocol: Protocol, name: string): boolean {
  return entriesOf(protocol).passed.has(name);
}

/** Returns whether a server would run a tool of this type. Such a tool is not shown to the model. */
export function isServerTool(protocol: Protocol, type: unknown): boolean {
  return entriesOf(protocol).reported.some(({ path: [list, , key], prefixes }) => {
    return list === 'tools' && key === 'type' && startsWithAny(type, prefixes);
  });
}

type Entry = {
  readonly name: string;
  /** Keys, with `[]` for each entry of a list. */
  readonly path: readonly string[];
  /** The prefixes that the value must begin with. Empty: any value. */
  readonly prefixes: readonly string[];
  readonly wish: Wish;
};
type Entries = {
  readonly reported: readonly Entry[];
  readonly refused: readonly Entry[];
  readonly thinkingOff: readonly Entry[];
  readonly variables: readonly Entry[];
  readonly passed: ReadonlySet<string>;
};

const byProtocol = new Map<Protocol, Entries>();

function entriesOf(protocol: Protocol): Entries {
  const known = byProtocol.get(protocol) ?? readEntries(protocol);
  byProtocol.set(protocol, known);
  return known;
}

function readEntries(protocol: Protocol): Entries {
  const all = wishes.flatMap((wish) => (wish.names[protocol] ?? []).map((name) => toEntry(name, wish)));
  const reported = all.filter(({ wish }) => wish.treatment === 'reported');
  const refused = all.filter(({ wish }) => wish.treatment === 'refused');
  const labels = all.filter(({ wish }) => wish.isLabel === true);
  const thinkingOff = all.filter(({ wish }) => wish.asks === 'no_thinking');
  const variables = all.filter(({ wish }) => wish.asks === 'variables');
  return {
    reported,
    refused,
    thinkingOff,
    variables,
    passed: new Set([...reported, ...refused, ...labels].map(({ name }) => name)),
  };
}

function toEntry(name: string, wish: Wish): Entry {
  const [place = '', prefixes] = name.split('=');
  return { name, path: place.split(/\.|(?=\[\])/), prefixes: prefixes?.split('|') ?? [], wish };
}

function findReported(given: unknown, { name, path, prefixes }: Entry): readonly string[] {
  const values = valuesAt(given, path);
  if (prefixes.length === 0) return values.some(isAsked) ? [name] : [];
  return values
    .filter((value) => startsWithAny(value, prefixes))
    .map((value) => `${name.replace(/[[=].*/, '')}: ${String(value)}`);
}

function startsWithAny(value: unknown, prefixes: readonly string[]): boolean {
  return typeof value === 'string' && prefixes.some((prefix) => value.startsWith(prefix));
}

/** Whether a value asks for something. `strict: false` and similar values do not. */
function isAsked(value: unknown): boolean {
  return value !== false && !(Array.isArray(value) && value.length === 0);
}

/** Returns the values at a path. Lists on the way are searched too. */
function valuesAt(given: unknown, [key, ...rest]: readonly string[]): readonly unknown[] {
  if (given === undefined || given === null) return [];
  if (key === undefined) return [given];
  if (key === '[]') return Array.isArray(given) ? given.flatMap((entry) => valuesAt(entry, rest)) : [];
  return typeof given === 'object' ? valuesAt(Reflect.get(given, key), rest) : [];
}

function isNeutral({ neutral = [] }: Wish, value: unknown): boolean {
  return neutral.some((harmless) => isDeepStrictEqual(harmless, value));
}

function reasonOf({ neutral = [], note }: Wish): string {
  const instead = neutral.length === 0 ? '' : ` or send ${neutral.map((value) => JSON.stringify(value)).join(' or ')}`;
  return `is not supported by this model; leave it out${instead}${note === undefined ? '' : ` (${note})`}`;
}
