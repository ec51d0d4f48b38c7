import type { ChatResponse, TokenLogprob } from '@agentjet/core';

/** Matches about as much text as a model writes in a few tokens. */
const piece = /[\s\S]{1,24}/gu;

/**
 * Splits the arguments of a call for streaming, because clients expect pieces that they join. All pieces are sent at
 * once: a block is known to be a call only when it closes.
 */
export function inPieces(text: string): readonly string[] {
  return text.match(piece) ?? [];
}

/**
 * Collects the logprobs of a stream. Each piece is sent with the logprobs of the tokens since the previous piece, and
 * the last piece with the remaining ones.
 */
export class PendingLogprobs {
  #pending: TokenLogprob[] = [];
  #numTaken = 0;

  add(tokens: readonly TokenLogprob[]): void {
    this.#pending.push(...tokens);
  }

  take(): readonly TokenLogprob[] {
    const taken = this.#pending;
    this.#pending = [];
    this.#numTaken += taken.length;
    return taken;
  }

  /** Returns the logprobs of the whole answer that were not taken yet. */
  rest({ logprobs }: ChatResponse): readonly TokenLogprob[] | undefined {
    return logprobs?.slice(this.#numTaken);
  }
}

/** Counts the thinking tokens of an answer. 0 if the model does not report its tokens. */
export function countReasoningTokens({ message: { reasoning = '' }, logprobs = [] }: ChatResponse): number {
  const thought = reasoning.trim();
  const begin =
    thought === ''
      ? -1
      : logprobs
          .map(({ text }) => text)
          .join('')
          .indexOf(thought);
  if (begin < 0) return 0;
  const end = begin + thought.length;
  let length = 0;
  return logprobs.filter(({ text }) => (length += text.length) - text.length < end).length;
}
