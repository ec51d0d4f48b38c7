import { type CommonConfig, ConfigError, isJsonObject, type Task, valueAtPath } from '@agentjet/core';

/** The settings of judges that name the field of a task with its right answer. */
const answerFields = ['taskField', 'referenceField'];

/**
 * Returns the field of the tasks' metadata that holds the right answer: the given one, or the one that the judge reads.
 * Null if neither is known.
 */
export function findExpectedField({ taskJudge }: CommonConfig, given: string | undefined): string | null {
  if (given !== undefined) return given;
  const { judgeType } = taskJudge;
  const sections = Object.entries(taskJudge).flatMap(([name, section]: [string, unknown]) =>
    isJsonObject(section) && isUsed(name, { judgeType, combined: taskJudge }) ? [section] : [],
  );
  const names = sections.flatMap((section) => answerFields.map((field) => section[field]));
  return names.find((name) => typeof name === 'string') ?? null;
}

type JudgeChoice = { readonly judgeType: unknown; readonly combined: Readonly<Record<string, unknown>> };

/** Whether the section belongs to the chosen judge, or to a part of it. */
function isUsed(name: string, { judgeType, combined }: JudgeChoice): boolean {
  if (judgeType === name) return true;
  const { parts, gates } = isJsonObject(combined['combined']) ? combined['combined'] : {};
  if (judgeType !== 'combined') return false;
  return (isJsonObject(parts) && name in parts) || (Array.isArray(gates) && gates.includes(name));
}

/**
 * Returns the right answer of a task as text, or undefined if the task has none. The field may be a path, such as
 * `solution.value`.
 */
export function expectedAnswer({ metadata }: Task, field: string): string | undefined {
  const value = field in metadata ? metadata[field] : valueAtPath(metadata, field.split('.'));
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean);
}

/** Returns the names of the fields that the tasks have in their metadata. */
export const listFields = (tasks: readonly Task[]): readonly string[] =>
  [...new Set(tasks.flatMap(({ metadata }) => Object.keys(metadata)))].sort();

/** Throws ConfigError `no_expected_field` if no task has the field that the user named. */
export function requireExpected(tasks: readonly Task[], field: string): void {
  if (tasks.some((task) => expectedAnswer(task, field) !== undefined)) return;
  const fields = listFields(tasks);
  const seen = fields.length === 0 ? 'They have no metadata' : `Their metadata has: ${fields.join(', ')}`;
  throw new ConfigError(
    'no_expected_field',
    `None of the ${tasks.length} tasks has "${field}" in its metadata. ${seen}. Name the field of the right answer with --expected.`,
  );
}
