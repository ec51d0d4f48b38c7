import { ConfigError } from '@agentjet/core';
import { BrokenPromise } from '../broken-promise.js';
import { type AdapterPromise, expectEqual, expectTrue } from '../promise.js';

export const identityPromises: readonly AdapterPromise[] = [
  {
    sentence: 'A target that does not learn gets the debugModel itself.',
    check: async ({ driver, open }) => {
      const { tuner } = open({ replies: ['x'], trainableTargets: ['agent'] });
      const model = driver.asModel(tuner, { agentName: 'other', debugModel: driver.debugModel });
      expectTrue(
        model === driver.debugModel,
        'asModel returned another object than debugModel. Return the result of tuner.selectModel(...) unchanged.',
      );
    },
  },
  {
    sentence: 'A target that does not learn and has no debugModel causes an error that names the agent.',
    check: async ({ driver, open }) => {
      const { tuner } = open({ replies: ['x'], trainableTargets: ['agent'] });
      const error = catchError(() => driver.asModel(tuner, { agentName: 'other' }));
      expectTrue(
        error instanceof ConfigError && error.message.includes('"other"'),
        `asModel threw ${String(error)}; it must let the ConfigError of tuner.selectModel through.`,
      );
    },
  },
  {
    sentence: 'agentName and targetTag reach the record. Without a targetTag, the tag is the agentName.',
    check: async ({ driver, open, begin, call }) => {
      const { tuner, finish } = open({ replies: ['x'] });
      await call(driver.asModel(tuner, { agentName: 'one' }), begin());
      await call(driver.asModel(tuner, { agentName: 'two', targetTag: 'team' }), begin());
      const seen = finish().samples.map(({ agentName, targetTag }) => `${agentName}/${targetTag}`);
      expectEqual(seen.sort(), ['one/one', 'two/team'], 'Who the samples belong to');
    },
  },
];

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new BrokenPromise('asModel returned a model; it must throw.');
}
