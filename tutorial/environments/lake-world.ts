import type { Environment, Session, StepResult, Task } from 'agentjet';
import { type Direction, directions, FrozenLake, type LakeMap } from '../frozen-lake/frozen-lake.js';

/** The lake of the first tutorial as a world. It runs in this process, and in each server of this folder. */
export class LakeWalk {
  readonly #lake: FrozenLake;
  #isLost = false;

  constructor(map: LakeMap) {
    this.#lake = new FrozenLake(map);
  }

  get text(): string {
    return this.#isLost ? 'lost' : this.#lake.describe();
  }

  get isDone(): boolean {
    return this.#isLost || this.#lake.state !== 'walking';
  }

  get reward(): number {
    return this.#lake.state === 'goal' ? 1 : 0;
  }

  /** An answer that is not a direction ends the walk. */
  step(words: string): void {
    const direction = directions.find((each): each is Direction => each === words.trim());
    if (direction === undefined) this.#isLost = true;
    else this.#lake.step(direction);
  }
}

export function walkOn({ metadata }: Pick<Task, 'metadata'>): LakeWalk {
  return new LakeWalk(metadata['map'] as LakeMap);
}

/** environments.yaml names this world. */
export const lake: Environment = {
  name: 'the lake',
  open: async (task): Promise<Session> => {
    const walk = walkOn(task);
    return {
      observation: { text: walk.text },
      tools: [],
      step: async (action): Promise<StepResult> => {
        walk.step(typeof action === 'string' ? action : '');
        return { observation: { text: walk.text }, reward: walk.reward, isDone: walk.isDone };
      },
      evaluate: async () => ({ reward: walk.reward, isSuccess: walk.reward === 1 }),
      close: () => undefined,
    };
  },
};
