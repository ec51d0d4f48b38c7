export type {
  ChatTemplate,
  ChatTokenizer,
  ParsedReply,
  RenderOptions,
  ReplyStreamParser,
  StreamDecoder,
  Tokenizer,
} from './contract.js';
