import { TaskError } from '@agentjet/core';
import type { FileMetaData, SchemaElement } from 'hyparquet';

/** Finds and converts decimals and times of day, which hyparquet returns as rounded numbers and as counts. */

/** A decimal or a time of day in a column, or inside of its structs, lists and maps. */
export type Leaf = {
  /** Names of the structs' fields that lead to it; `*` is any key of a map. Lists have no names. */
  readonly names: readonly string[];
  /** Throws a TaskError that begins with `where`. */
  readonly read: (value: unknown, where: string) => unknown;
};

type Node = { readonly element: SchemaElement; readonly children: readonly Node[] };

/** Returns the leaves of each column that has some. */
export function findLeaves({ schema }: FileMetaData): ReadonlyMap<string, readonly Leaf[]> {
  const [root] = readNode(schema, 0);
  const found = root.children.map((node) => [node.element.name, [...leavesOf(node, [])]] as const);
  return new Map(found.filter(([, leaves]) => leaves.length > 0));
}

/** Removes the type of decimals that are bytes, so that hyparquet returns the bytes instead of a rounded number. */
export function withRawDecimals(metadata: FileMetaData): FileMetaData {
  const schema = metadata.schema.map((element) => {
    if (!isDecimal(element) || element.type?.includes('BYTE_ARRAY') !== true) return element;
    const { converted_type: _converted, logical_type: _logical, ...raw } = element;
    return raw;
  });
  return { ...metadata, schema };
}

/** Returns the leaves below the field of that name. */
export function leavesBelow(leaves: readonly Leaf[], name: string): readonly Leaf[] {
  return leaves
    .filter(({ names: [first] }) => first === '*' || first === name)
    .map(({ names, read }) => ({ names: names.slice(1), read }));
}

function readNode(schema: readonly SchemaElement[], at: number): readonly [node: Node, next: number] {
  const element = schema[at] ?? { name: '' };
  const children: Node[] = [];
  let next = at + 1;
  for (let child = 0; child < (element.num_children ?? 0); child++) {
    const [node, after] = readNode(schema, next);
    children.push(node);
    next = after;
  }
  return [{ element, children }, next];
}

function* leavesOf({ element, children }: Node, names: readonly string[]): Generator<Leaf> {
  const [inner] = children;
  if (inner === undefined) {
    const read = readerOf(element);
    if (read !== undefined) yield { names, read };
    return;
  }
  const kind = element.logical_type?.type ?? element.converted_type;
  if (kind === 'LIST') {
    const [item] = inner.children;
    yield* leavesOf(inner.children.length === 1 && item !== undefined ? item : inner, names);
  } else if (kind === 'MAP' || kind === 'MAP_KEY_VALUE') {
    const [, value] = inner.children;
    if (value !== undefined) yield* leavesOf(value, [...names, '*']);
  } else for (const child of children) yield* leavesOf(child, [...names, child.element.name]);
}

const isDecimal = ({ converted_type: converted, logical_type: logical }: SchemaElement): boolean =>
  converted === 'DECIMAL' || logical?.type === 'DECIMAL';

const perSecond = { MILLIS: 1000n, MICROS: 1_000_000n, NANOS: 1_000_000_000n } as const;

function readerOf(element: SchemaElement): Leaf['read'] | undefined {
  const { converted_type: converted, logical_type: logical, scale = 0 } = element;
  if (isDecimal(element)) return (value, where) => toDecimal(value, scale, where);
  if (logical?.type === 'TIME') return (value) => toTimeOfDay(value, perSecond[logical.unit]);
  if (converted === 'TIME_MILLIS') return (value) => toTimeOfDay(value, perSecond.MILLIS);
  if (converted === 'TIME_MICROS') return (value) => toTimeOfDay(value, perSecond.MICROS);
  return undefined;
}

/** A double can represent any decimal of 15 digits. */
const mostUnits = 10n ** 15n;

/** Returns a number if it is exact, otherwise a string. */
function toDecimal(value: unknown, scale: number, where: string): unknown {
  if (value instanceof Uint8Array) return fromUnits(toUnits(value), scale);
  if (typeof value !== 'number') return value;
  if (Math.abs(value) * 10 ** scale < Number(mostUnits)) return Number(value.toFixed(Math.min(scale, 100)));
  throw new TaskError(
    'bad_task',
    `${where} is a decimal stored in 64 bits with more digits than a number can hold: about ${value}. Save the column as text.`,
  );
}

function fromUnits(units: bigint, scale: number): number | string {
  const size = units < 0n ? -units : units;
  const digits = size.toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const text = `${units < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`;
  return size < mostUnits ? Number(text) : text;
}

/** Reads two's complement, the highest byte first. */
function toUnits(bytes: Uint8Array): bigint {
  const units = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return BigInt.asIntN(Math.max(1, bytes.length * 8), units);
}

/** Returns the time in ISO 8601, without a date. */
function toTimeOfDay(value: unknown, units: bigint): unknown {
  if (typeof value !== 'number' && typeof value !== 'bigint') return value;
  const count = BigInt(value);
  const time = new Date(Number(count / units) * 1000).toISOString().slice(11, 19);
  const rest = (count % units).toString().padStart(units.toString().length - 1, '0');
  const fraction = rest.replace(/0+$/, '');
  return fraction === '' ? time : `${time}.${fraction}`;
}
