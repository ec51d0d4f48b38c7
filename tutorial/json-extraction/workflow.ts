import { asModel } from '@agentjet/ai-sdk';
import { isJsonObject } from '@agentjet/core';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { readOrder } from './agent.js';

/** One episode: one message. The reward is the share of right fields; success is an order that is right as a whole. */
export async function extractOrder(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = asModel(tuner, { agentName: 'clerk' });
  const found = await readOrder(task.mainQuery, model, tuner.signal);
  const reward = scoreOrder(found, task.metadata['order']);
  return { reward, isSuccess: reward === 1, metadata: { found: JSON.stringify(found) ?? 'no JSON' } };
}

/** Returns the share of fields that are right, 0 to 1. An extra field counts as a wrong field. */
export function scoreOrder(found: unknown, order: unknown): number {
  if (!isJsonObject(found) || !isJsonObject(order)) return 0;
  const fields = new Set([...Object.keys(order), ...Object.keys(found)]);
  return [...fields].filter((field) => found[field] === order[field]).length / fields.size;
}
