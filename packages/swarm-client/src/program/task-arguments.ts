import path from 'node:path';
import { TaskError, type Task } from '@agentjet/core';

/**
 * Linux refuses to start a program if one argument or one environment variable has more than 128 KiB. This limit leaves room
 * for the name of the variable.
 */
const mostBytes = 120 * 1024;

/** The task as files of any size, in the home folder of the episode. `json` is the content of `taskFile`. */
export type WrittenTask = { readonly queryFile: string; readonly taskFile: string; readonly json: string };

export function describeTask({ taskId, mainQuery, metadata }: Task, home: string): WrittenTask {
  const json = JSON.stringify({ task_id: taskId, main_query: mainQuery, metadata });
  return { queryFile: path.join(home, 'query.txt'), taskFile: path.join(home, 'task.json'), json };
}

/** The environment variables of a task. `AJET_QUERY` and `AJET_TASK` are absent if they are too long for a variable. */
export function taskVariables(
  { taskId, mainQuery }: Task,
  { queryFile, taskFile, json }: WrittenTask,
): Readonly<Record<string, string>> {
  return {
    AJET_TASK_ID: taskId,
    AJET_QUERY_FILE: queryFile,
    AJET_TASK_FILE: taskFile,
    ...(fits(mainQuery) && { AJET_QUERY: mainQuery }),
    ...(fits(json) && { AJET_TASK: json }),
  };
}

/**
 * Replaces `{query}`, `{task_id}` and `{query_file}` in the arguments of a program. The values are data: what looks like a
 * placeholder or a pattern in them stays as it is.
 * @throws TaskError `task_refused` if the value cannot be passed as an argument, or if the program would read it as an option
 */
export function fillArguments(args: readonly string[], task: Task, { queryFile }: WrittenTask): readonly string[] {
  const values = { query: task.mainQuery, task_id: task.taskId, query_file: queryFile };
  const optionsEnd = args.indexOf('--');
  return args.map((arg, index) => {
    const filled = arg.replaceAll(/\{(query|task_id|query_file)\}/g, (_all, name: keyof typeof values) => values[name]);
    const isPositional = optionsEnd >= 0 && index > optionsEnd;
    if (filled.startsWith('-') && !arg.startsWith('-') && !isPositional)
      throw refused(task, `begins with "-", so the program would read it as an option`, 'Write -- before {query}, or');
    if (filled.includes('\0'))
      throw refused(task, 'has a zero byte, which an argument cannot hold', 'To pass any bytes,');
    if (!fits(filled))
      throw refused(
        task,
        `has ${Buffer.byteLength(filled)} bytes, and an argument holds ${mostBytes}`,
        'To pass any size,',
      );
    return filled;
  });
}

const fits = (text: string): boolean => Buffer.byteLength(text) <= mostBytes && !text.includes('\0');

function refused({ taskId }: Task, why: string, repair: string): TaskError {
  return new TaskError(
    'task_refused',
    `Task ${JSON.stringify(taskId)} was not given to the program: its value ${why}. ${repair} use {query_file} or the environment variable AJET_QUERY_FILE, the path of a file that holds the query.`,
  );
}
