import { expect, it } from 'vitest';
import type { Backbone, BackboneParts } from '@agentjet/core';
import type { BackboneEntry } from '@agentjet/inputs';
import { createConfig } from '@agentjet/inputs/testing';
import { openBackbone } from './open-backbone.js';

it('a backbone hears an interruption while it opens', async () => {
  const stopping = new AbortController();
  const entry = {
    name: 'slow',
    open: (_: never, { signal }: BackboneParts) =>
      new Promise<Backbone>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  } as unknown as BackboneEntry;
  const options = { emit: () => undefined, modelDir: 'none', signal: stopping.signal };
  const opening = openBackbone(entry, createConfig(), options);
  stopping.abort(new Error('stopped'));
  await expect(opening).rejects.toThrow('stopped');
});
