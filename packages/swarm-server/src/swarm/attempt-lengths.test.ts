import { Ledger } from '@agentjet/ledger';
import { expect, it } from 'vitest';
import { AttemptLengths } from './attempt-lengths.js';
import { StragglerNotice } from './straggler-notice.js';

/** Creates a clock, and a ledger whose lost attempts are watched as in the server. */
function watch() {
  const clock = { ms: 0 };
  const lengths: { watched?: AttemptLengths } = {};
  const ledger = new Ledger({
    rules: { failedEpisodePolicy: 'drop_group', maxAttempts: 3 },
    now: () => clock.ms,
    maxStepMs: Infinity,
    onDrop: ({ episodeId }) => lengths.watched?.cut(episodeId, 7),
    journal: (records) => {
      for (const record of records) lengths.watched?.note(record);
    },
  });
  const watched = new AttemptLengths(ledger, [{ name: 'a' }, { name: 'b' }]);
  lengths.watched = watched;
  const claim = (groupId: string, place: number, episodeId: string): void => {
    ledger.claim({ groupId, place }, { episodeId, seed: 0 });
    watched.begin(episodeId);
  };
  const end = (episodeId: string, status: 'completed' | 'failed' | 'outage'): void => {
    const seconds = watched.secondsOf(episodeId);
    ledger.end(episodeId, { status, reward: 1, tokens: 10, seconds });
  };
  return { ledger, watched, clock, claim, end };
}

it('gives each step what was lost since the one before, and not what was trained or evaluated', () => {
  const { ledger, watched, clock, claim, end } = watch();
  const group = ledger.openGroup({ groupId: 'g', taskId: 't', numPlaces: 2 });
  ledger.openGroup({ groupId: 'v', taskId: 'v', numPlaces: 1, purpose: 'evaluation' });
  claim('g', 0, 'silent');
  claim('g', 1, 'out');
  claim('v', 0, 'seen');
  clock.ms = 3000;
  ledger.drop('silent', 'lease_expired');
  end('out', 'outage');
  end('seen', 'completed');
  claim('g', 0, 'trained');
  claim('g', 1, 'late');
  clock.ms = 5000;
  end('trained', 'completed');
  expect(ledger.episode('trained').end?.seconds).toBe(2);
  const lost = [
    { episodeId: 'silent', tokens: 7, seconds: 3, isCut: true },
    { episodeId: 'out', tokens: 10, seconds: 3, isCut: true },
  ];
  expect(watched.take('a', [])).toEqual(lost);
  expect(watched.take('a', [])).toEqual([]);
  ledger.dropGroup('g', 'stale');
  const given = [
    { episodeId: 'trained', tokens: 10, seconds: 2, isCut: false },
    { episodeId: 'late', tokens: 7, seconds: 2, isCut: true },
  ];
  expect(watched.take('b', [group])).toEqual([...lost, ...given]);
  expect(watched.take('a', [group])).toEqual(given);
});

it('warns once when more than two of a hundred groups are given up', () => {
  const said: string[] = [];
  const notice = new StragglerNotice((message) => said.push(message));
  notice.noteTrained(98);
  notice.noteGiven(2);
  expect(said).toEqual([]);
  notice.noteGiven(1);
  notice.noteGiven(1);
  expect(said).toEqual([expect.stringMatching(/^3 of 101 groups were given up/)]);
});
