export { createChatTokenizerFiles } from './testing/chat-tokenizer-files.js';
export { chatTemplates, type TemplateFamily } from './testing/templates.js';
