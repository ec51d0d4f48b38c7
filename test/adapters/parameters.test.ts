import type { Protocol, Wish } from '@agentjet/core/parameters';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longIt } from '../long-tests.js';
import {
  elsewhere,
  findSilence,
  outcomeOf,
  rows,
  sendNative,
  smallest,
  toRequests,
  withValue,
} from './parameter-walk.js';

/**
 * Walks the table of parameters. Each parameter is sent through its own API to a model that says "hello", and the
 * outcome must be what the table says. A parameter without a value here fails, so no row is left out.
 */

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

const ofTreatment = (treatment: Wish['treatment']) => rows.filter(([, , wish]) => wish.treatment === treatment);

it.each(Object.keys(smallest) as Protocol[])(
  '%s: equal requests look equal, so a difference has a meaning',
  async (protocol) => {
    const [first, second] = [
      await outcomeOf(server, protocol, smallest[protocol]),
      await outcomeOf(server, protocol, smallest[protocol]),
    ];
    expect(first.seen).toBe(second.seen);
  },
);

describe('what is honoured is accepted', () => {
  const honoured = ofTreatment('honoured').filter(([, name]) => !elsewhere.includes(name));
  it.each(honoured)('%s: %s', async (protocol, name) => {
    for (const request of toRequests(protocol, name)) {
      expect(await outcomeOf(server, protocol, request)).toMatchObject({ refusal: undefined, ignored: [] });
    }
  });
});

describe('what has no effect is accepted and counted', () => {
  it.each(ofTreatment('reported'))('%s: %s', async (protocol, name) => {
    for (const request of toRequests(protocol, name)) {
      const { refusal, ignored, calls } = await outcomeOf(server, protocol, request);
      expect([refusal, calls.answered]).toEqual([undefined, 1]);
      expect(ignored).toEqual([expect.stringContaining(name.split(/[[=]/)[0] ?? '')]);
    }
  });
});

describe('what is refused is refused by its name, unless it changes nothing', () => {
  it.each(ofTreatment('refused'))('%s: %s', async (protocol, name, { neutral = [] }) => {
    for (const request of toRequests(protocol, name)) {
      const { refusal, calls } = await outcomeOf(server, protocol, request);
      expect(refusal).toContain(name);
      expect(calls.answered).toBe(0);
    }
    for (const harmless of [null, ...neutral]) {
      const request = withValue(smallest[protocol], name.split('.'), harmless);
      expect(await outcomeOf(server, protocol, request)).toMatchObject({ refusal: undefined, ignored: [] });
    }
  });
});

describe('the native client of an SDK treats each parameter as the endpoint does', () => {
  const expectSame = async (protocol: Protocol, name: string): Promise<void> => {
    for (const request of toRequests(protocol, name)) {
      const { seen: _native, ...native } = await outcomeOf(server, protocol, request, sendNative);
      const { seen: _overHttp, ...overHttp } = await outcomeOf(server, protocol, request);
      expect(native).toEqual({ ...overHttp, refusal: overHttp.refusal && expect.stringContaining(name) });
    }
  };
  it.each(rows.filter(([protocol]) => protocol === 'chat'))('%s: %s', expectSame);
  longIt.each(rows.filter(([protocol]) => protocol === 'messages' || protocol === 'gemini'))('%s: %s', expectSame);
});

describe('what nobody knows is refused by its name', () => {
  it.each([
    ['chat', 'made_up'],
    ['completions', 'made_up'],
    ['responses', 'made_up'],
    ['messages', 'made_up'],
    ['gemini', 'madeUp'],
    ['gemini', 'generationConfig.madeUp'],
    ['gemini', 'toolConfig.madeUp'],
    ['langgraph', 'made_up'],
    ['agents', 'modelSettings.providerData.made_up'],
  ] as const)('%s', async (protocol, name) => {
    const { refusal } = await outcomeOf(server, protocol, withValue(smallest[protocol], name.split('.'), 1));
    expect(refusal).toContain(name.split('.').at(-1));
  });
});

describe('no entry of the table is silent: what is honoured changes what the model or the client sees', () => {
  it.each(rows.filter(([, name]) => !elsewhere.includes(name)))('%s: %s', async (...row) => {
    expect(await findSilence(server, row)).toBeUndefined();
  });
});
