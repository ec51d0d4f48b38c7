import { readdirSync } from 'node:fs';
import { BackboneError, quoteForShell } from '@agentjet/core';
import { LostError, RefusedError } from './tinker-errors.js';

/**
 * Turns the refusal of a server to load a state into an error that says where the state may be, and how to continue
 * from the downloaded weights. Returns other errors unchanged.
 */
export function explainLostState(error: unknown, state: string, home: string | undefined): unknown {
  if (!(error instanceof LostError) && !(error instanceof RefusedError)) return error;
  return new BackboneError(
    'bad_model_files',
    `The server does not load the state at ${state} (${error.message}). Set tinker.base_url to the server that trained the model, and use the same tinker.base_model and tinker.rank as then. If that server has lost the state, ${wayOn(home)}.`,
    { cause: error },
  );
}

function wayOn(home: string | undefined): string {
  if (home !== undefined && !readdirSync(home).some((name) => name.endsWith('.safetensors')))
    return 'this checkpoint cannot be resumed, because none of its weights were downloaded. Start a new run, or resume from an older checkpoint';
  return `continue from the downloaded weights: \`ajet export ${home === undefined ? '<the run>' : quoteForShell(home)} <folder>\` makes a whole model from an adapter or merged weights. Give the server that folder as its base model, and start a new run with it as model.path`;
}
