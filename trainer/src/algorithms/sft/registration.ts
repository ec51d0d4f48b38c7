import { defineAlgorithm, z } from '@agentjet/core';

export const sft = defineAlgorithm({
  name: 'sft',
  summary: 'imitate every answer',
  section: z.strictObject({}),
  async open() {
    const { createSft } = await import('./sft.js');
    return createSft();
  },
});
