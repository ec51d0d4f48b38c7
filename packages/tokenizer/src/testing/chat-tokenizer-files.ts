import { byteCharacters } from '../byte-level.js';
import type { ChatTokenizerOptions } from '../chat-tokenizer.js';
import { chatTemplates, type TemplateFamily } from './templates.js';

/** Splits text as Qwen's tokenizers do: words with the preceding space, single digits, punctuation, line ends. */
const wordPattern =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** There are few merges, but several token sequences can spell the same text. */
const merges: readonly (readonly [string, string])[] = [
  ['t', 'h'],
  ['th', 'e'],
  ['Ġ', 'the'],
  ['i', 'n'],
  ['a', 'n'],
  ['an', 'd'],
  ['Ġ', 'and'],
  ['o', 'n'],
  ['e', 'r'],
  ['r', 'e'],
  ['l', 'l'],
  ['h', 'e'],
  ['he', 'll'],
  ['hell', 'o'],
  ['Ġ', 'a'],
  ['Ġ', 't'],
  ['"', ':'],
  ['{', '"'],
  ['Ã', '©'],
  ['in', 'g'],
];

const specialTokens: Readonly<Record<TemplateFamily, readonly string[]>> = {
  chatml: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'],
  qwen3: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'],
  qwen3_coder: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'],
  plain: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'],
  llama3: [
    '<|begin_of_text|>',
    '<|end_of_text|>',
    '<|start_header_id|>',
    '<|end_header_id|>',
    '<|eot_id|>',
    '<|python_tag|>',
  ],
};

const turnEnd: Readonly<Record<TemplateFamily, string>> = {
  chatml: '<|im_end|>',
  qwen3: '<|im_end|>',
  qwen3_coder: '<|im_end|>',
  plain: '<|im_end|>',
  llama3: '<|eot_id|>',
};

function createTokenizerJson(specials: readonly string[]): Readonly<Record<string, unknown>> {
  const spellings = [...byteCharacters, ...merges.map((pair) => pair.join(''))];
  const vocab = Object.fromEntries(spellings.map((spelling, id) => [spelling, id]));
  const numPlain = spellings.length;
  const added = specials.map((content, index) => ({
    id: numPlain + index,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: wordPattern }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      vocab,
      merges,
    },
  };
}

/** Returns the tokenizer files of a small model folder: 256 bytes, twenty merges, and the family's special tokens. */
export function createChatTokenizerFiles(family: TemplateFamily): ChatTokenizerOptions {
  const bos = family === 'llama3' ? { bos_token: '<|begin_of_text|>' } : {};
  return {
    tokenizerJson: createTokenizerJson(specialTokens[family]),
    tokenizerConfig: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      eos_token: turnEnd[family],
      ...bos,
      chat_template: chatTemplates[family],
      clean_up_tokenization_spaces: false,
    },
  };
}
