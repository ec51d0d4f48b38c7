import { setting, toSnakeCase, z } from '@agentjet/core';
import type { Fields } from '../tasks/fields.js';

/** Settings that all readers of rows share. */
export const tableSettings = {
  fields: setting(
    z.record(z.string().regex(/^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$/, 'a name such as main_query'), z.string().min(1)),
    {},
    'columns by their name in the task, e.g. { main_query: question, answer: "answer|after:####", task_id: id }. Ids then begin with the name of the source',
  ),
  split: z
    .strictObject({
      evaluation: setting(z.number().min(0).lt(1), 0, 'share of the training tasks that is set aside for evaluation'),
      by: setting(
        z.string().min(1),
        'content',
        'the value that is hashed: content | task_id | a name in the metadata, which keeps tasks with the same value together',
      ),
    })
    .describe('a split by hash, so that more data never moves a task to the other side'),
  allow_overlap: setting(
    z.boolean(),
    false,
    'whether a task may be in both training and evaluation; false: it is an error',
  ),
  duplicates: setting(
    z.enum(['keep', 'exact', 'near']),
    'keep',
    'what happens to training tasks that repeat an earlier one: keep | exact: drop equal texts | near: drop similar texts too',
  ),
  similarity: setting(
    z.number().gt(0).max(1),
    0.8,
    'near: a task is dropped if it shares at least this part of its runs of three words with an earlier one',
  ),
};

/** Returns the names in the spelling of the file, because only our own keys are camelCase. */
export function fieldsOf(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, spec]) => [toSnakeCase(name), spec]));
}
