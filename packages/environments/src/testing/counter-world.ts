/**
 * Every server of the suite serves this world. A session is a counter. Each step and each call has unique text, so that
 * the world can detect what was applied twice. A session is done at 5.
 */
export class CounterWorld {
  /** Open sessions. */
  readonly open = new Map<string, { count: number }>();
  /** How often each action was applied. */
  readonly applied = new Map<string, number>();
  /** The seeds with which sessions were opened. */
  readonly seeds = new Map<string, number[]>();
  opened = 0;
  most = 0;

  begin(id: string, { taskId, seed }: { readonly taskId: string; readonly seed?: number }): string {
    if (this.open.has(id)) throw new Error(`The session ${id} was opened twice.`);
    this.open.set(id, { count: 0 });
    this.opened++;
    this.most = Math.max(this.most, this.open.size);
    if (seed !== undefined) this.seeds.set(taskId, [...(this.seeds.get(taskId) ?? []), seed]);
    return `${taskId} at 0`;
  }

  /** Returns undefined if there is no such session. */
  apply(
    id: string,
    action: string,
  ): { readonly text: string; readonly count: number; readonly isDone: boolean } | undefined {
    const session = this.open.get(id);
    if (session === undefined) return undefined;
    if (action.startsWith('bad')) return { text: 'refused', count: -1, isDone: false };
    this.applied.set(action, (this.applied.get(action) ?? 0) + 1);
    session.count++;
    return { text: `${action} at ${session.count}`, count: session.count, isDone: session.count >= 5 };
  }

  score(id: string): number | undefined {
    const session = this.open.get(id);
    return session === undefined ? undefined : session.count / 5;
  }

  end(id: string): boolean {
    return this.open.delete(id);
  }

  /** Actions that were applied more than once. */
  get appliedTwice(): readonly string[] {
    return [...this.applied].filter(([, times]) => times > 1).map(([action]) => action);
  }
}
