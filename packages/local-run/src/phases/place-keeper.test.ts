import type { Episode } from '@agentjet/rollout';
import { beforeEach, describe, expect, it } from 'vitest';
import { PlaceKeeper, type PlaceKeeperOptions } from './place-keeper.js';

/** Creates a clock on which time passes only when the test says so. */
function createClock() {
  let now = 0;
  const timers: { readonly at: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    random: () => 0,
    after: (ms: number, run: () => void) => {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1));
    },
    /** Lets `ms` pass, timer by timer, and runs the code that waits for each timer. */
    pass: async (ms: number): Promise<void> => {
      const end = now + ms;
      for (;;) {
        const next = timers.toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined || next.at > end) break;
        now = Math.max(now, next.at);
        timers.splice(timers.indexOf(next), 1);
        next.run();
        await new Promise((resolve) => setImmediate(resolve));
      }
      now = end;
    },
  };
}

const nothing = {
  calls: 0,
  generatedTokens: 0,
  trainedTokens: 0,
  samples: 0,
  forks: {},
  splices: {},
  foreignMessages: {},
};

const task = (taskId: string) => ({ taskId, mainQuery: '', initMessages: [], metadata: {} });

function attemptAt(place: number, attempt = 0, taskId = 't') {
  const episodeId = `${taskId}-r${place}-a${attempt}`;
  return { groupId: taskId, task: task(taskId), place, numPlaces: 4, attempt, episodeId, seed: place };
}

function episodeOf(episodeId: string, outcome: object): Episode {
  const shared = { episodeId, task: task('t'), repeatIndex: 0, seed: 0, samples: [], turns: [], stats: nothing };
  const rest = { calls: {}, ignoredParameters: {}, metadata: {}, logMetrics: {}, seconds: 0 };
  return { ...shared, ...rest, ...outcome } as unknown as Episode;
}

const completed = (id: string): Episode => episodeOf(id, { status: 'completed', reward: 1, isSuccess: true });
const failed = (id: string): Episode =>
  episodeOf(id, { status: 'failed', error: { code: 'workflow_failed', message: 'a bug' } });
const outage = (id: string, host = 'api.example'): Episode =>
  episodeOf(id, {
    status: 'failed',
    error: { code: 'workflow_failed', message: 'quota is used up', outage: { source: 'debug_model', host } },
  });

let clock: ReturnType<typeof createClock>;
let notices: string[];
const neverAborted = new AbortController().signal;

beforeEach(() => {
  clock = createClock();
  notices = [];
});

function createKeeper(options: Partial<PlaceKeeperOptions> = {}): PlaceKeeper {
  return new PlaceKeeper({
    rules: { failedEpisodePolicy: 'partial_group', maxAttempts: 3, groupPatienceMs: null, scorePatienceMs: null },
    maxOutageMs: 60_000,
    scorePatienceMs: null,
    onNotice: (message) => notices.push(message),
    host: clock,
    ...options,
  });
}

async function run(keeper: PlaceKeeper, attempt: ReturnType<typeof attemptAt>, toEpisode: (id: string) => Episode) {
  await keeper.begin(attempt, neverAborted);
  return keeper.end(attempt, toEpisode(attempt.episodeId));
}

describe('a lost attempt', () => {
  it('is made again until max_attempts are lost; what the agent does wrong is not', async () => {
    const keeper = createKeeper();
    expect(await run(keeper, attemptAt(0, 0), completed)).toBe(false);
    expect(await run(keeper, attemptAt(1, 0), failed)).toBe(false);
    expect(await run(keeper, attemptAt(2, 0), (id) => outage(id, 'a'))).toBe(true);
    expect(await run(keeper, attemptAt(2, 1), (id) => outage(id, 'b'))).toBe(true);
    expect(await run(keeper, attemptAt(2, 2), (id) => outage(id, 'a'))).toBe(false);
    expect(await run(keeper, attemptAt(3, 0), (id) => outage(id, 'b'))).toBe(true);
    expect(await run(keeper, attemptAt(3, 1), completed)).toBe(false);
  });

  it('makes its task suspect if it is lost in three places while others finish; then it counts as a failure', async () => {
    const keeper = createKeeper();
    for (let place = 0; place < 3; place++) {
      for (let other = 0; other < 4; other++) await run(keeper, attemptAt(other, 0, `good${place}`), completed);
      const isAgain = await run(keeper, attemptAt(place, 0, 'bad'), (id) => outage(id, `host${place}`));
      expect(isAgain).toBe(place < 2);
    }
    expect(notices).toEqual([expect.stringContaining('Task bad is suspect')]);
  });

  it('belongs to a group that is drawn again if the world spoiled it, but not if the agent did', async () => {
    const keeper = createKeeper({ rules: { failedEpisodePolicy: 'drop_group', maxAttempts: 1 } });
    const group = (groupId: string, episodes: readonly Episode[]) => ({
      groupId,
      task: task(groupId),
      episodes,
      lost: [],
    });
    await run(keeper, attemptAt(0, 0, 'spoiled'), outage);
    await run(keeper, attemptAt(0, 0, 'wrong'), failed);
    const groups = [group('spoiled', [outage('x')]), group('wrong', [failed('y')])];
    expect(keeper.expired(groups, 1).map(({ groupId }) => groupId)).toEqual(['spoiled']);
    expect(keeper.expired(groups, 3)).toEqual([]);
    keeper.release(groups);
    expect(keeper.expired(groups, 1)).toEqual([]);
  });
});

describe('a pause', () => {
  async function loseFive(keeper: PlaceKeeper): Promise<void> {
    for (let index = 0; index < 5; index++) await run(keeper, attemptAt(0, 0, `task${index}`), outage);
  }

  it('begins after five losses in a row to one host, says why and what to do, and lets one attempt through', async () => {
    const keeper = createKeeper();
    await loseFive(keeper);
    expect(notices).toEqual([
      expect.stringMatching(
        /Paused: several attempts in a row were lost to api\.example\. quota is used up\nCheck the quota, the key/,
      ),
    ]);
    const began: number[] = [];
    for (let place = 0; place < 3; place++)
      void keeper.begin(attemptAt(place, 0, 'later'), neverAborted).then(() => began.push(place));
    await clock.pass(900);
    expect(began).toEqual([]);
    await clock.pass(200);
    expect(began).toHaveLength(1);
    keeper.end(attemptAt(0, 0, 'later'), completed('later-r0-a0'));
    await clock.pass(1000);
    expect(began).toHaveLength(3);
    expect(notices.at(-1)).toMatch(/The world is back: the run continues after 1\.1 s/);
  });

  it('does not count its losses against a place', async () => {
    const keeper = createKeeper();
    await loseFive(keeper);
    for (let attempt = 0; attempt < 5; attempt++) {
      const begun = keeper.begin(attemptAt(0, attempt, 'later'), neverAborted);
      await clock.pass(20_000 - attempt);
      await begun;
      expect(keeper.end(attemptAt(0, attempt, 'later'), outage(`later-r0-a${attempt}`))).toBe(true);
      if (clock.now() > 55_000) break;
    }
  });

  it('ends the run once it is longer than max_outage', async () => {
    const keeper = createKeeper({ maxOutageMs: 3000 });
    await loseFive(keeper);
    await clock.pass(1100);
    await keeper.begin(attemptAt(0, 0, 'probe'), neverAborted);
    keeper.end(attemptAt(0, 0, 'probe'), outage('probe-r0-a0'));
    const begun = keeper.begin(attemptAt(1, 0, 'probe'), neverAborted);
    const expectation = expect(begun).rejects.toMatchObject({
      code: 'outage',
      message: expect.stringContaining('--resume'),
    });
    await clock.pass(4000);
    await expectation;
  });

  it('is left with its run', async () => {
    const keeper = createKeeper();
    await loseFive(keeper);
    const stop = new AbortController();
    const begun = keeper.begin(attemptAt(0, 0, 'later'), stop.signal);
    stop.abort();
    await begun;
  });

  it('ends the run at once if the engine is broken for good', async () => {
    const keeper = createKeeper({
      checkEngine: () => {
        throw new Error('the engine is gone');
      },
    });
    await expect(loseFive(keeper)).rejects.toThrow('the engine is gone');
  });
});

describe('a judge that is away', () => {
  const judged = (id: string): Episode =>
    episodeOf(id, { status: 'completed', reward: 1, isSuccess: true, secondsJudging: 1 });
  const given = (id: string): Episode =>
    episodeOf(id, {
      status: 'failed',
      error: { code: 'judge_failed', message: 'no quota', outage: { source: 'judge', host: 'judge' } },
    });
  let keeper: PlaceKeeper;
  let began: number[];
  let held: boolean[];

  /** Two episodes whose judge is away, one that runs, and one that wants to begin. */
  beforeEach(async () => {
    [keeper, began, held] = [createKeeper({ maxOutageMs: null }), [], []];
    keeper.onHeld((isHeld) => held.push(isHeld));
    for (const place of [0, 1, 2]) await keeper.begin(attemptAt(place), neverAborted);
    expect(keeper.isPaused()).toBe(false);
    for (const place of [0, 1, 0, 1]) keeper.judgeIsAway(`t-r${place}-a0`, '429 no quota');
    void keeper.begin(attemptAt(3), neverAborted).then(() => began.push(3));
  });

  it('keeps further episodes from beginning until one has a verdict, and says both once', async () => {
    await clock.pass(3_600_000);
    expect([began, keeper.isPaused(), keeper.isHeld(), held]).toEqual([[], true, true, [true]]);
    keeper.end(attemptAt(2), completed('t-r2-a0')); // the workflow gave the reward, which says nothing about the judge
    await clock.pass(60_000);
    expect(began).toEqual([]);
    keeper.end(attemptAt(1), judged('t-r1-a0'));
    await clock.pass(2000);
    expect([began, keeper.isHeld(), held]).toEqual([[3], false, [true, false]]);
    expect(notices).toEqual([
      expect.stringMatching(
        /^Paused: the judge cannot be reached \(429 no quota\)\. Check the quota.*\nNo new episodes/,
      ),
      'The judge is back: the run continues.',
    ]);
  });

  it('wakes the episodes that wait when another one has a verdict, once', () => {
    let numWoken = 0;
    const leave = keeper.onJudgeBack(() => numWoken++);
    keeper.end(attemptAt(2), completed('t-r2-a0'));
    expect(numWoken).toBe(0);
    keeper.end(attemptAt(1), judged('t-r1-a0'));
    keeper.end(attemptAt(0), judged('t-r0-a0'));
    expect(numWoken).toBe(1);
    leave();
    keeper.judgeIsAway('t-r0-a0', '429 no quota');
    keeper.end(attemptAt(3), judged('t-r3-a0'));
    expect(numWoken).toBe(1);
  });

  it('makes nobody late as long as an episode waits for it', () => {
    keeper.end(attemptAt(1), judged('t-r1-a0'));
    expect(keeper.isPaused()).toBe(true);
    keeper.end(attemptAt(0), judged('t-r0-a0'));
    expect(keeper.isPaused()).toBe(false);
  });

  it('is asked again if it goes away again', async () => {
    keeper.end(attemptAt(1), judged('t-r1-a0'));
    keeper.judgeIsAway('t-r0-a0', '429 no quota');
    await clock.pass(60_000);
    expect([began, held]).toEqual([[], [true, false, true]]);
  });

  it('holds nothing up once no episode waits for it any more', async () => {
    keeper.end(attemptAt(0), given('t-r0-a0'));
    await clock.pass(60_000);
    expect(began).toEqual([]);
    keeper.release([{ groupId: 't', task: task('t'), episodes: [given('t-r1-a0')], lost: [] }]);
    await clock.pass(2000);
    expect([began, keeper.isPaused()]).toEqual([[3], false]);
  });
});
