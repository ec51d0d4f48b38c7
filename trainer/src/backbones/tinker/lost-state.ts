import { readdirSync } from 'node:fs';
import { BackboneError, quoteForShell } from '@agentjet/core';
import { LostError, RefusedError } from './tinker-errors.js';

/** A server that does not load a state: where to look for it, and how to go on from what came home. Other errors stay as they are. */
export function explainLostState(error: unknown, state: string, home: string | undefined): unknown {
  if (!(error instanceof LostError) && !(error instanceof RefusedError)) return error;
  return new BackboneError(
    'bad_model_files',
    `The server does not load the state at ${state} (${error.message}). Set tinker.base_url to the server that trained it, and tinker.base_model and tinker.rank as they were. If it has lost the state, ${wayOn(home)}.`,
    { cause: error },
  );
}

function wayOn(home: string | undefined): string {
  if (home !== undefined && !readdirSync(home).some((name) => name.endsWith('.safetensors')))
    return 'nothing can go on from this checkpoint, because none of its weights came home: begin anew, or from an older checkpoint';
  return `go on from the weights at home: \`ajet export ${home === undefined ? '<the run>' : quoteForShell(home)} <folder>\` makes a whole model of them, adapter or merged; give the server that folder as its base model, and begin a new run with it as model.path`;
}
