import { defineTemplateFamily } from '../template-family.js';
import { createLlama3Section } from './llama3-section.js';

export const llama3 = defineTemplateFamily({
  name: 'llama3',
  recognizes: (source) => source.includes('<|start_header_id|>') || source.includes('<|python_tag|>'),
  turnEnds: ['<|eot_id|>', '<|eom_id|>'],
  createAnswer: createLlama3Section,
  writeCalls: (calls) =>
    calls.map(({ name, arguments: text }) => `{"name": ${JSON.stringify(name)}, "parameters": ${text}}`).join('; '),
  callForm: { open: '', argumentsKey: 'parameters' },
});
