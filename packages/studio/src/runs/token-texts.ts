import type { Tokenizer } from '@agentjet/tokenizer';

/** Decodes tokens to text. Without a tokenizer, it shows ids. */
export class TokenDecoder {
  readonly #tokenizer: Tokenizer | undefined;

  constructor(tokenizer: Tokenizer | undefined) {
    this.#tokenizer = tokenizer;
  }

  get hasText(): boolean {
    return this.#tokenizer !== undefined;
  }

  /** One text for each token. A character belongs to the token that completes it. */
  each(ids: readonly number[]): readonly string[] {
    if (this.#tokenizer === undefined) return ids.map((id) => `‹${id}›`);
    const decoder = this.#tokenizer.createStreamDecoder();
    const texts = ids.map((id) => decoder.push(id));
    const rest = decoder.flush();
    const last = texts.length - 1;
    return rest === '' ? texts : texts.map((text, at) => (at === last ? text + rest : text));
  }

  join(ids: readonly number[]): string {
    return this.#tokenizer === undefined ? this.each(ids).join('') : this.#tokenizer.decode(Int32Array.from(ids));
  }
}
