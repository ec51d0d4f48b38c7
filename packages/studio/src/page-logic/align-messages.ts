import type { Said } from '../wire.js';

/** The messages at the same position of two conversations. `isSame` is true if author and text are equal. */
export type AlignedPair = {
  readonly left: Said | undefined;
  readonly right: Said | undefined;
  readonly isSame: boolean;
};

export type AlignedMessages = {
  readonly pairs: readonly AlignedPair[];
  /** Number of the first pair that differs. Undefined if both are equal. */
  readonly firstDifference: number | undefined;
  /** The length of the beginning that the two messages of that pair share. */
  readonly sharedLength: number;
};

/** Puts two conversations side by side, in the order of their messages. */
export function alignMessages(left: readonly Said[], right: readonly Said[]): AlignedMessages {
  const length = Math.max(left.length, right.length);
  const pairs = Array.from({ length }, (_none, at) => {
    const [one, other] = [left[at], right[at]];
    return {
      left: one,
      right: other,
      isSame: one !== undefined && one.author === other?.author && one.text === other.text,
    };
  });
  const first = pairs.findIndex(({ isSame }) => !isSame);
  if (first === -1) return { pairs, firstDifference: undefined, sharedLength: 0 };
  const pair = pairs[first];
  return {
    pairs,
    firstDifference: first,
    sharedLength: sharedBeginning(pair?.left?.text ?? '', pair?.right?.text ?? ''),
  };
}

function sharedBeginning(left: string, right: string): number {
  let at = 0;
  while (at < left.length && left[at] === right[at]) at++;
  return at;
}
