export type {
  ChatTemplate,
  ChatTokenizer,
  ParsedReply,
  RenderOptions,
  ReplyStreamParser,
  StreamDecoder,
  TextKind,
  Tokenizer,
} from './contract.js';
export { byteCharacters } from './byte-level.js';
export { type ChatTokenizerOptions, createChatTokenizer } from './chat-tokenizer.js';
export { loadChatTokenizer } from './load-chat-tokenizer.js';
export type { ReplyFormat } from './reply/reply-format.js';
