export { createChatTokenizerFiles } from './testing/chat-tokenizer-files.js';
export { chatTemplates, type TemplateFamily } from './testing/templates.js';
export { templateFamilyCases, type TemplateFamilyOptions } from './testing/template-family-cases.js';
