import { byteCharacters } from '@agentjet/tokenizer';
import { chatTemplates } from '@agentjet/tokenizer/testing';
import type { Merge } from './train-bpe.js';

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The rule by which Qwen's tokenizers split text, with each digit separate. `AutoTokenizer` of transformers 5 uses this
 * rule for every model of type qwen2, and ignores the rule in tokenizer.json.
 */
const wordPattern =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** The same rule for JavaScript, whose regular expressions cannot ignore case for only one group. */
export const wordRegExp = new RegExp(wordPattern.replace('(?i:', '(?:'), 'gu');

const digits = Array.from('0123456789');
/**
 * Two digits are one token, so that a number is copied in one step. No merge can join them, since each digit is a
 * separate word. Added tokens are found before the text is split.
 */
const digitPairs = digits.flatMap((left) => digits.map((right) => left + right));

/** Marks for the ends of turns and documents. Text that people write does not contain them. */
const specialTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
/** Marks of tool calls. Each mark is one token, but counts as text. */
const markTokens = ['<tools>', '</tools>', '<tool_call>', '</tool_call>', '<tool_response>', '</tool_response>'];

/** The last tokens of the vocabulary. The copying lesson does not use them. */
export const endsAndMarks: readonly string[] = [...specialTokens, ...markTokens];

export const addedTokens: readonly string[] = [...digitPairs, ...endsAndMarks];

export const turnEnd = '<|im_end|>';

export function createTokenizerJson(merges: readonly Merge[]): JsonObject {
  const spellings = [...byteCharacters, ...merges.map((pair) => pair.join(''))];
  const vocab = Object.fromEntries(spellings.map((spelling, id) => [spelling, id]));
  const toAdded = (content: string, index: number): JsonObject => ({
    id: spellings.length + index,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: specialTokens.includes(content),
  });
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  const split = { type: 'Split', pattern: { Regex: wordPattern }, behavior: 'Isolated', invert: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens.map(toAdded),
    normalizer: { type: 'NFC' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [split, byteLevel] },
    post_processor: byteLevel,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges,
    },
  };
}

export function createTokenizerConfig(maxLength: number): JsonObject {
  return {
    tokenizer_class: 'Qwen2TokenizerFast',
    add_bos_token: false,
    add_prefix_space: false,
    bos_token: null,
    eos_token: turnEnd,
    pad_token: '<|endoftext|>',
    unk_token: null,
    additional_special_tokens: ['<|im_start|>', turnEnd],
    model_max_length: maxLength,
    clean_up_tokenization_spaces: false,
    errors: 'replace',
    split_special_tokens: false,
    chat_template: chatTemplates.chatml,
  };
}
