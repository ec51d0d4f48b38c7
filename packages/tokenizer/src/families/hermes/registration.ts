import { defineTemplateFamily } from '../template-family.js';
import { createHermesSection } from './hermes-section.js';

export const hermes = defineTemplateFamily({
  name: 'hermes',
  summary: 'Qwen, Hermes',
  recognizes: (source) => source.includes('<tool_call>'),
  turnEnds: ['<|im_end|>'],
  createAnswer: createHermesSection,
  callForm: { open: '<tool_call>\n', argumentsKey: 'arguments' },
});
