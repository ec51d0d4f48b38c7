import type { EpisodeTranscript } from '@agentjet/records';
import { expect, it } from 'vitest';
import { formatTranscript } from './format-transcript.js';

it('a debugged episode shows the calls that failed while it continued', () => {
  const swallowedErrors = [
    { agentName: 'anna', code: 'bad_request', message: 'option "x" is not known.', times: 3 },
    { agentName: 'bert', code: 'failed', message: 'busy', times: 1 },
  ];
  const task = { taskId: 't', mainQuery: '', initMessages: [], metadata: {} };
  const episode = {
    episodeId: 'e',
    task,
    status: 'completed',
    reward: 1,
    isSuccess: true,
    seconds: 0,
    swallowedErrors,
  };
  const text = formatTranscript({ episode, calls: [] } as unknown as EpisodeTranscript);
  expect(text).toContain('A call of agent "anna" failed 3 times, and the episode continued: option "x" is not known.');
  expect(text).toContain('A call of agent "bert" failed, and the episode continued: busy');
});
