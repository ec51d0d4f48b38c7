import { createHash } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Returns an id of nine letters and digits, the only form that every chat template accepts (Mistral's require it). The
 * id is a function of the episode, the call and the position, so that the same run mints the same ids. There are 62^9
 * values, so ids of different episodes hardly ever collide.
 */
export function mintCallId(episodeId: string, callIndex: number, place: number): string {
  const digest = createHash('sha256').update(`${episodeId}\u0000${callIndex}\u0000${place}`).digest();
  let number = digest.readBigUInt64LE();
  let id = '';
  for (let length = 0; length < 9; length++) {
    id += alphabet[Number(number % 62n)];
    number /= 62n;
  }
  return id;
}
