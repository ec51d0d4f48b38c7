import { createChatTokenizer } from '../src/index.js';
import { chatTemplates, createChatTokenizerFiles, type TemplateFamily } from '../src/testing.js';

/**
 * Prints the chat templates of the tests as JSON for `render.py`. The keys are the names of the templates. Each
 * template is the one that other servers get.
 */

const sources = Object.entries(chatTemplates).map(([name, source]) => {
  const { changedTemplate = source } = createChatTokenizer(createChatTokenizerFiles(name as TemplateFamily));
  return [name, changedTemplate];
});
console.log(JSON.stringify(Object.fromEntries(sources)));
