import type { Task } from '@agentjet/core';

/** Tests use this file: one problem, and a model's reply that calls the calculator. */

export const problem: Task = {
  taskId: 'a',
  mainQuery: 'Ann has 12 nuts and loses 7. How many nuts are left?',
  initMessages: [],
  metadata: { answer: 5 },
};

export const callCalculator = (expression: string): string =>
  `<tool_call>\n{"name": "calculator", "arguments": {"expression": "${expression}"}}\n</tool_call>`;
