import type { SamplingOptions } from '@agentjet/core';
import type { Feature } from '../driver.js';
import { type AdapterPromise, expectEqual } from '../promise.js';

const asked = { temperature: 0.25, topP: 0.75, topK: 7, maxTokens: 33, seed: 12 } as const;

const onePromise = (name: keyof typeof asked & Feature): AdapterPromise => ({
  sentence: `${name} reaches the engine.`,
  needs: [name],
  check: async ({ open, begin, call }) => {
    const { model, engine } = open({ replies: ['x'] });
    await call(model, begin(), { sampling: { [name]: asked[name] } satisfies SamplingOptions });
    expectEqual(engine.requests[0]?.request.sampling[name], asked[name], `The engine's ${name}`);
  },
});

export const samplingPromises: readonly AdapterPromise[] = [
  ...(['temperature', 'topP', 'topK', 'maxTokens', 'seed'] as const).map(onePromise),
  {
    sentence: 'A stop string ends the answer before the string.',
    needs: ['stop'],
    check: async ({ open, begin, call }) => {
      const { text } = await call(open({ replies: ['one two HALT three'] }).model, begin(), {
        sampling: { stop: ['HALT'] },
      });
      expectEqual(text.trim(), 'one two', 'The text of the answer');
    },
  },
  {
    sentence: 'Options that a call leaves open come from the run, and each call has its own seed.',
    check: async ({ driver, open, begin, call }) => {
      const sampling = { temperature: 0.7, topP: 0.8, topK: 0, maxTokens: 55 };
      const { model, engine } = open({ replies: ['x'], sampling });
      await call(model, begin());
      await call(model, begin());
      expectEqual(
        engine.requests.length,
        2,
        'How often the engine was called by two calls with the same words (a cached answer is not a sample of the model)',
      );
      const [first, second] = engine.requests.map(({ request }) => request.sampling);
      const left = (['temperature', 'topP', 'topK', 'maxTokens'] as const).filter(
        (name) => driver.required?.includes(name) !== true,
      );
      expectEqual(
        left.map((name) => first?.[name]),
        left.map((name) => sampling[name]),
        left.join(', '),
      );
      expectEqual(first?.seed === second?.seed, false, 'Whether two calls have the same seed');
    },
  },
];
