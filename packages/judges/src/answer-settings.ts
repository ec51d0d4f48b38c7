import { setting, z } from '@agentjet/core';

/** Settings of every judge that reads one answer. They say where the answer is. */
export const answerSource = {
  output_field: setting(
    z.string().min(1),
    'answer',
    "field of the workflow's metadata; if the workflow returns none, the agent's last message is read",
  ),
  agent: setting(
    z.string().min(1).nullable(),
    null,
    'agent whose last message is read; null: the agent that spoke last',
  ),
};

/** The ways to compare two answers. */
export const comparisons = ['text', 'number', 'choice', 'expression', 'set'] as const;
export type Comparison = (typeof comparisons)[number];
