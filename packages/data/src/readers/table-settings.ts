import { setting, toSnakeCase, z } from '@agentjet/core';
import type { Fields } from '../tasks/fields.js';

/** Settings that all readers of rows share. */
export const tableSettings = {
  fields: setting(
    z.record(z.string().regex(/^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$/, 'a name such as main_query'), z.string().min(1)),
    {},
    'columns by their name in the task, e.g. { main_query: question, answer: "answer|after:####", task_id: id }; ids then begin with the name of the source',
  ),
  split: z
    .strictObject({
      evaluation: setting(z.number().min(0).lt(1), 0, 'share of the training tasks that is set aside for evaluation'),
      by: setting(
        z.string().min(1),
        'content',
        'what is hashed: content | task_id | a name in the metadata, so that tasks with one value stay together',
      ),
    })
    .describe('by hash, so that more data never moves a task to the other side'),
  allow_overlap: setting(z.boolean(), false, 'whether a task may be in training and in evaluation; false: an error'),
  duplicates: setting(
    z.enum(['keep', 'exact', 'near']),
    'keep',
    'training tasks that repeat an earlier one: keep | exact: drop equal texts | near: drop similar texts as well',
  ),
  similarity: setting(
    z.number().gt(0).max(1),
    0.8,
    'near: share of common runs of three words from which one is dropped',
  ),
};

/** The names as the file has them: camelCase is for keys that are ours. */
export function fieldsOf(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, spec]) => [toSnakeCase(name), spec]));
}
