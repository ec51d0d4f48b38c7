export type {
  ChatTemplate,
  CallForms,
  ChatTokenizer,
  ParsedReply,
  RenderOptions,
  DecodedIds,
  StreamDecoder,
  Tokenizer,
} from './contract.js';
export { byteCharacters } from './byte-level.js';
export { type ChatTokenizerOptions, createChatTokenizer } from './chat-tokenizer.js';
export { reservedVariables } from './template-variables.js';
export { joinIds } from './word-encoder.js';
export { RecentTexts } from './recent-texts.js';
export { fittingToolCalls } from './tools/tool-watch.js';
export { loadChatTokenizer, type ChatTokenizerOverrides } from './load-chat-tokenizer.js';
export type { ReplyFormatOptions } from './reply/reply-format.js';
export type { TemplateFamily } from './families/template-family.js';
export type { ReplyBuilder } from './reply/reply-builder.js';
export type { ReplySection } from './reply/reply-section.js';
