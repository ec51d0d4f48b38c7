import { execFileSync } from 'node:child_process';
import { ajet, lastLine } from './run-node.js';

/** Returns the folder of a model on this machine by the name that `model.path` takes, or undefined if it is not here. */
export function findModel(name: string): string | undefined {
  const output = execFileSync(process.execPath, [ajet, 'model', 'list', '--json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { models } = JSON.parse(lastLine(output)) as {
    readonly models: readonly { readonly name: string; readonly dir: string; readonly has_weights: boolean }[];
  };
  return models.find((model) => model.name === name && model.has_weights)?.dir;
}
