import { defineAlgorithm, z } from '@agentjet/core';
import { createSft } from './sft.js';

export const sft = defineAlgorithm({
  name: 'sft',
  summary: 'imitate every answer',
  section: z.strictObject({}),
  open: () => createSft(),
});
