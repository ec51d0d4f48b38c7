import { readFileSync } from 'node:fs';
import path from 'node:path';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programs, reply, word, type ProgramName } from './programs.js';
import { fillIds, type Transcript } from './transcript.js';

/**
 * The requests of Claude Code, Codex and OpenCode in an episode. `npm run swarm:programs -- --record` runs them again.
 */

let server: EndpointServer;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(() => server.close());

/** Parameters of the programs that have no effect, and how often they come. */
const ignored: Readonly<Record<ProgramName, object>> = {
  'claude-code': {
    agent: { context_management: 2, 'output_config.effort': 2, thinking: 2, 'tools[].defer_loading': 2 },
  },
  codex: { agent: { reasoning: 2, 'tools: web_search': 2 } },
  opencode: {},
};
const untrained: Readonly<Record<ProgramName, number>> = { 'claude-code': 0, codex: 0, opencode: 1 };

const readTranscript = (name: string): Transcript =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, 'transcripts', `${name}.json`), 'utf8')) as Transcript;

describe.each(Object.keys(programs) as ProgramName[])('%s', (name) => {
  const { package: from, version, requests } = readTranscript(name);

  it('calls a tool, reads its result, and continues from the same answer', async () => {
    const { tuner, engine, finish } = openScriptedEpisode({
      replies: (request) => reply(programs[name], request),
      contextLength: 1_000_000,
      endpointHost: server,
      untrainedModels: ['*:untrained'],
    });
    const { baseUrl, apiKey } = tuner.asOpenAIEndpoint({ agentName: 'agent' });
    const answers: string[] = [];
    for (const { path: route, body } of requests) {
      const response = await fetch(`${baseUrl.replace(/\/v1$/, '')}${route}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(fillIds(body, answers)),
      });
      answers.push(await response.text());
      expect([response.status, answers.at(-1)]).toEqual([200, expect.not.stringContaining('"error":{')]);
    }
    expect(engine.requests.at(-1)?.text).toMatch(new RegExp(`<tool_response>[^<]*${word}`));
    const { stats, samples, calls, ignoredParameters } = finish();
    expect([stats.forks, stats.foreignMessages, stats.calls, samples.length]).toEqual([{}, {}, 2, 1]);
    expect(calls.untrained).toBe(untrained[name]);
    expect(ignoredParameters).toEqual(ignored[name]);
  });

  it('was recorded with the version that the recipe names', () => {
    expect({ package: from, version }).toEqual({ package: programs[name].package, version: programs[name].version });
    const page = path.resolve(import.meta.dirname, '../../../tutorial/black-box/README.md');
    expect(readFileSync(page, 'utf8')).toContain(`| ${version} |`);
  });
});
