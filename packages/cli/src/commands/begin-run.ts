import { snakeKeys, type JsonObject, codeOfError } from '@agentjet/core';
import { createOutput } from '../output.js';
import { loadJob } from './load-job.js';
import { openOperator, type OperatorFlags } from './swarm-operate.js';

export type BeginFlags = OperatorFlags & { readonly conf: string; readonly run?: string };

/** `ajet swarm begin` sends a configuration to a server and waits until its run is open. */
export async function beginRun(overrides: readonly string[], { conf, run, ...flags }: BeginFlags): Promise<number> {
  const operator = openOperator(flags);
  const { config } = loadJob({ conf }, overrides);
  const begun = await operator.begin(toServerKeys(snakeKeys(config as unknown as JsonObject)), run);
  for (;;) {
    const server = await operator.server().catch((error: unknown) => {
      if (codeOfError(error) === 'no_run') throw error; // the run could not begin, and the error says why
      return undefined;
    });
    if (server !== undefined && server.state !== 'recovering') {
      const output = createOutput(flags);
      output.writeLine(`The run "${begun.run}" has begun: ${server.state}, step ${server.step}.`);
      output.writeJson({ run: begun.run, state: server.state, step: server.step });
      return 0;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Removes the keys that only clients use, and the folders of this machine, because the server cannot use them. */
function toServerKeys(config: JsonObject): JsonObject {
  const { experiment_dir: _dir, task_reader: _reader, task_judge: _judge, rollout, ...more } = config;
  const { environment: _environment, sft: _sft, debug: _debug, ...others } = more;
  const { user_workflow: _workflow, ...kept } = (rollout ?? {}) as JsonObject;
  return { ...others, rollout: kept };
}
