/** This file stores numbers in JSON exactly: a typed array becomes the base64 of its little-endian bytes. */

export const packInts = (values: Int32Array): string => toBase64(values);

export const unpackInts = (text: string): Int32Array => intsIn(fromBase64(text));

export const packFloats = (values: Float32Array): string => toBase64(values);

export const unpackFloats = (text: string): Float32Array => floatsIn(fromBase64(text));

const intsIn = (bytes: Uint8Array): Int32Array => new Int32Array(copyOf(bytes));

export const floatsIn = (bytes: Uint8Array): Float32Array => new Float32Array(copyOf(bytes));

/**
 * Copies bytes to a new buffer, because typed arrays must begin at multiples of four bytes and the bytes of a record
 * may begin anywhere.
 */
const copyOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;

const toBase64 = ({ buffer, byteOffset, byteLength }: Int32Array | Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64');
