import { defineTemplateFamily } from '../template-family.js';
import { createPlainSection } from './plain-section.js';

/** The family of templates that no other family recognizes. */
export const none = defineTemplateFamily({
  name: 'none',
  summary: 'no tool calls',
  recognizes: () => false,
  turnEnds: [],
  createAnswer: createPlainSection,
});
