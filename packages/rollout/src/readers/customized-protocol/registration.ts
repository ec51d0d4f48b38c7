import { ConfigError, setting, z } from '@agentjet/core';
import { defineReader } from '../../tasks/task-reader.js';

export const readerProtocol = defineReader({
  name: 'customized_protocol',
  isFlat: true,
  section: z.strictObject({
    reader_protocol: setting(
      z.string().min(1).nullable(),
      null,
      'for customized_protocol: path/file.ts->Export, an object or class with trainingTasks() and evaluationTasks(), or a generator of training tasks',
      { path: 'module' },
    ),
  }),
  async open({ readerProtocol: reference }) {
    if (reference === null)
      throw new ConfigError(
        'no_tasks',
        'task_reader.type is customized_protocol, but task_reader.reader_protocol is empty. Name a reader: path/file.ts->Export.',
      );
    const [{ importUserModule }, { createReader }] = await Promise.all([
      import('../../user-module.js'),
      import('./create-reader.js'),
    ]);
    return createReader(await importUserModule(reference, process.cwd(), 'task_reader.reader_protocol'), reference);
  },
});
