import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChatModel } from '@agentjet/core';
import { userFrames } from '../user-frames.js';
import type { SwallowedError } from './swallowed-errors.js';

type RunningCall = { readonly agentName: string; readonly begun: Error };

/** Knows which model calls of an episode are running, so that a forgotten `await` can be reported with its line. */
export class RunningCalls {
  readonly #running = new Set<RunningCall>();
  #hasBegun = false;
  /** The calls that were running when the workflow returned, as calls that fail unnoticed. */
  unawaited: readonly SwallowedError[] = [];

  watch(model: ChatModel, agentName: string): ChatModel {
    return {
      ...model,
      generate: async (request, options) => {
        const call = { agentName, begun: new Error('begun here') };
        this.#running.add(call);
        this.#hasBegun = true;
        try {
          return await model.generate(request, options);
        } finally {
          this.#running.delete(call);
        }
      },
    };
  }

  /**
   * Call this when the workflow has returned. Clients such as OpenAI's begin a call some turns of the event loop later.
   * If the workflow has made no call, those turns are awaited, because a forgotten `await` is the likely reason.
   */
  async noteReturn(): Promise<readonly SwallowedError[]> {
    for (let turn = 0; turn < turnsOfClients && !this.#hasBegun; turn++) await nextTurn();
    this.unawaited = [...this.#running].map(({ agentName, begun }) => ({
      agentName,
      code: 'unawaited',
      message: `The workflow returned while this call was running, so its answer is lost. Is an await missing?${placeOf(begun)}`,
      times: 1,
    }));
    return this.unawaited;
  }
}

/** OpenAI's client takes one. The other turns are for slower clients. */
const turnsOfClients = 5;

function placeOf({ stack }: Error): string {
  const [frame] = userFrames(stack);
  return frame === undefined ? '' : ` The call began ${frame.trim()}`;
}
