import type { JsonObject } from '@agentjet/core';

/**
 * The rule that splits text before merges are applied. GGUF stores a name for the rule, and tokenizer.json stores the
 * rule itself.
 */
export type GgufPreTokenizer = {
  /** The values of `tokenizer.ggml.pre` for this rule. The first one is used for writing. */
  readonly names: readonly [string, ...(readonly string[])];
  readonly normalizer: JsonObject | null;
  readonly preTokenizer: JsonObject;
  /** Whether a piece that equals a token becomes this token without merges. */
  readonly ignoresMerges: boolean;
};

const byteLevel = (usesRegex: boolean): JsonObject => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: usesRegex,
});

function splitBy(pattern: string): JsonObject {
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
  return { type: 'Sequence', pretokenizers: [split, byteLevel(false)] };
}

const words = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+`;
const rest = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

export const preTokenizers: readonly GgufPreTokenizer[] = [
  {
    names: ['qwen2', 'deepseek-r1-qwen'],
    normalizer: { type: 'NFC' },
    preTokenizer: splitBy(String.raw`${words}|\p{N}|${rest}`),
    ignoresMerges: false,
  },
  {
    names: ['smollm', 'starcoder', 'refact'],
    normalizer: null,
    preTokenizer: {
      type: 'Sequence',
      pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel(true)],
    },
    ignoresMerges: false,
  },
  {
    names: ['llama-bpe', 'llama3', 'llama-v3'],
    normalizer: null,
    preTokenizer: splitBy(String.raw`${words}|\p{N}{1,3}|${rest}`),
    ignoresMerges: true,
  },
  { names: ['gpt-2'], normalizer: null, preTokenizer: byteLevel(true), ignoresMerges: false },
];

/**
 * Returns the pre-tokenizer of a tokenizer.json, or undefined for an unknown rule. Settings that do not change token
 * ids are ignored.
 */
export function recognizePreTokenizer(preTokenizer: unknown): GgufPreTokenizer | undefined {
  const wanted = canonical(preTokenizer);
  return preTokenizers.find((each) => canonical(each.preTokenizer) === wanted);
}

const withoutEffect = new Set(['trim_offsets']);

function canonical(value: unknown): string {
  const sorted = (_: string, inner: unknown): unknown =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([key]) => !withoutEffect.has(key))
            .sort(([left], [right]) => (left < right ? -1 : 1)),
        )
      : inner;
  return JSON.stringify(value, sorted);
}
