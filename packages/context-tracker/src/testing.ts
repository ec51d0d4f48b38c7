export { createToyChatTokenizer } from './testing/toy-chat-tokenizer.js';
