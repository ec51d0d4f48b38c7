/**
 * Byte-level BPE spells each byte as one printable character (Radford et al. 2019, GPT-2). This file defines that
 * alphabet and converts a token's spelling back to its bytes.
 */

function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

function createAlphabet(): readonly string[] {
  let numShifted = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPrintable(byte) ? byte : 256 + numShifted++));
}

/** Shape [256]: the character that represents each byte. */
export const byteCharacters: readonly string[] = createAlphabet();

const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  byteCharacters.map((character, byte) => [character, byte]),
);
const textEncoder = new TextEncoder();

/** Returns the bytes of a vocabulary entry. An entry outside the alphabet represents its own text. */
export function toTokenBytes(spelling: string): Uint8Array {
  const bytes = Array.from(spelling, (character) => byteOfCharacter.get(character) ?? -1);
  return bytes.includes(-1) ? textEncoder.encode(spelling) : Uint8Array.from(bytes);
}
