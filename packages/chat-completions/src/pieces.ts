import type { ChatResponse, TokenLogprob } from '@agentjet/core';

/** About as much as a model writes in some tokens. */
const piece = /[\s\S]{1,24}/gu;

/**
 * Arguments of a call as they are streamed. A call is known to be one when its block closes, so the pieces follow each other at once;
 * clients that put pieces together get what they expect.
 */
export function inPieces(text: string): readonly string[] {
  return text.match(piece) ?? [];
}

/** Logprobs of a stream: those of the tokens since the piece before go with the next one, and what is left with the last. */
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

  /** Of the whole answer, what was not taken. */
  rest({ logprobs }: ChatResponse): readonly TokenLogprob[] | undefined {
    return logprobs?.slice(this.#numTaken);
  }
}

/** How many tokens of an answer are thinking; 0 if the model does not say which tokens it made. */
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
