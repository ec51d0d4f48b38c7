/** A value of the metadata. 64-bit integers that a number cannot hold exactly are bigints. */
export type GgufValue = string | number | bigint | boolean | readonly GgufValue[];

/** Thrown if the header is longer than the bytes at hand. */
export class HeaderEnds extends Error {}

/** Thrown if the content cannot be that of a GGUF file. */
export class NotGguf extends Error {}

type Reader = { readonly bytes: number; readonly read: (view: DataView, at: number) => number | bigint | boolean };

/** Readers by the number of the type. Type 8 is a string and type 9 an array. */
const scalars: Readonly<Record<number, Reader>> = {
  0: { bytes: 1, read: (view, at) => view.getUint8(at) },
  1: { bytes: 1, read: (view, at) => view.getInt8(at) },
  2: { bytes: 2, read: (view, at) => view.getUint16(at, true) },
  3: { bytes: 2, read: (view, at) => view.getInt16(at, true) },
  4: { bytes: 4, read: (view, at) => view.getUint32(at, true) },
  5: { bytes: 4, read: (view, at) => view.getInt32(at, true) },
  6: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  7: { bytes: 1, read: (view, at) => view.getUint8(at) !== 0 },
  10: { bytes: 8, read: (view, at) => simplify(view.getBigUint64(at, true)) },
  11: { bytes: 8, read: (view, at) => simplify(view.getBigInt64(at, true)) },
  12: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
};
const stringType = 8;
const arrayType = 9;
const deepestArray = 4;

/**
 * Reads a header from its beginning. Throws HeaderEnds if the header is longer than the bytes, and NotGguf for a type
 * that does not exist.
 */
export class HeaderCursor {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get at(): number {
    return this.#at;
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** Reads a count or a position. Throws HeaderEnds if it is too large for a number, because no file is that long. */
  uint64(): number {
    const value = simplify(this.#view.getBigUint64(this.#take(8), true));
    if (typeof value === 'bigint') throw new HeaderEnds();
    return value;
  }

  string(): string {
    const length = this.uint64();
    const start = this.#take(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  value(type: number, depth = 0): GgufValue {
    if (type === stringType) return this.string();
    if (type === arrayType && depth < deepestArray) return this.#array(depth);
    const { bytes, read } = scalarOf(type);
    return read(this.#view, this.#take(bytes));
  }

  #array(depth: number): readonly GgufValue[] {
    const type = this.uint32();
    const length = this.uint64();
    const smallest = type === stringType ? 8 : type === arrayType ? 12 : scalarOf(type).bytes;
    if (length * smallest > this.#bytes.length - this.#at) throw new HeaderEnds();
    return Array.from({ length }, () => this.value(type, depth + 1));
  }

  #take(length: number): number {
    const start = this.#at;
    if (length > this.#bytes.length - start) throw new HeaderEnds();
    this.#at += length;
    return start;
  }
}

function scalarOf(type: number): Reader {
  const reader = scalars[type];
  if (reader === undefined) throw new NotGguf(`it has a value of type ${type}, which GGUF does not know`);
  return reader;
}

function simplify(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
