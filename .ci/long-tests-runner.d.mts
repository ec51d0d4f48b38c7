export type Task = {
  readonly type: 'suite' | 'test';
  readonly name: string;
  mode: string;
  readonly tasks?: readonly Task[];
};

export function skipPassed(
  suite: { mode: string; readonly tasks: readonly Task[] },
  hasPassed: (fullName: string) => boolean,
): boolean;
