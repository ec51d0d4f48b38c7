import { setting, z } from '@agentjet/core';

/** Settings of every judge that reads one answer: where it is. */
export const answerSource = {
  output_field: setting(
    z.string().min(1),
    'answer',
    "field of the workflow's metadata; if it returns none, the agent's last message is read",
  ),
  agent: setting(z.string().min(1).nullable(), null, 'whose last message; null: of the agent that spoke last'),
};

/** How two answers can be compared. */
export const comparisons = ['text', 'number', 'choice', 'expression', 'set'] as const;
export type Comparison = (typeof comparisons)[number];
