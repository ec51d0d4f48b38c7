import { ConfigError, type ChatModel } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import type { EndpointRegistration, ModelOptions } from './contract.js';
import { createTuner, type TunerOptions } from './tuner.js';

const named = (name: string): ChatModel => ({ name, generate: () => Promise.reject(new Error('not asked')) });
const debugModel = named('debug');

function select(trainableTargets: readonly string[] | undefined, options: Partial<ModelOptions<ChatModel>>): ChatModel {
  return open({ trainableTargets }).selectModel({ agentName: 'wolf', ...options }, (model) => model);
}

function open(options: Partial<TunerOptions> = {}) {
  return createTuner({
    episodeId: 'e',
    signal: new AbortController().signal,
    createModel: ({ agentName, targetTag }) => named(`tuned ${agentName} ${targetTag}`),
    ...options,
  });
}

describe('selectModel', () => {
  it.each([
    { targets: undefined, options: {}, gives: 'tuned wolf wolf' },
    { targets: undefined, options: { debugModel }, gives: 'tuned wolf wolf' },
    { targets: undefined, options: { targetTag: 'villain' }, gives: 'tuned wolf villain' },
    { targets: ['wolf'], options: { debugModel }, gives: 'tuned wolf wolf' },
    { targets: ['villain'], options: { targetTag: 'villain', debugModel }, gives: 'tuned wolf villain' },
    { targets: ['wolf'], options: { targetTag: 'villain', debugModel }, gives: 'debug' },
    { targets: ['villager'], options: { debugModel }, gives: 'debug' },
  ])('gives "$gives" for targets $targets', ({ targets, options, gives }) => {
    expect(select(targets, options).name).toBe(gives);
  });

  it('returns the debug model itself', () => {
    expect(select(['other'], { debugModel })).toBe(debugModel);
  });

  it('names the agent, its target and the repair if there is no model', () => {
    expect(() => select(['werewolf'], { agentName: 'Player3', targetTag: 'villager' })).toThrow(
      new ConfigError(
        'no_debug_model',
        'No model for agent "Player3": its target "villager" is not in trainable_targets (werewolf) and it has no debug model. Pass debugModel to asModel(), or add "villager" to trainable_targets.',
      ),
    );
  });

  it('refuses an agent without a name', () => {
    expect(() => select(undefined, { agentName: '' })).toThrow(/agentName ""/);
    expect(() => open().selectModel(undefined as never, (model) => model)).toThrow(/agentName undefined/);
  });

  it('refuses options that it would ignore', () => {
    const select = (options: object) => open().selectModel({ agentName: 'wolf', ...options }, (model) => model);
    expect(() => select({ target_tag: 'a' })).toThrow(
      'asModel() got the option "target_tag" for agent "wolf", which it does not have. Did you mean targetTag?',
    );
    expect(() => select({ temperature: 0.2 })).toThrow(/"temperature".* Set the sampling of all calls under `rollout`/);
  });

  it.each([[''], [5]])('refuses %j for a target tag', (targetTag) => {
    expect(() => select(undefined, { targetTag: targetTag as never })).toThrow(
      /targetTag .* for agent "wolf"\. Pass a non-empty string, or leave it out/,
    );
  });

  it('refuses an empty list of targets at once', () => {
    expect(() => open({ trainableTargets: [] })).toThrow(/empty list/);
  });
});

describe('asOpenAIEndpoint', () => {
  it('opens the model that selectModel would give', () => {
    const opened: EndpointRegistration[] = [];
    const endpointHost = {
      open: (registration: EndpointRegistration) => {
        opened.push(registration);
        return { baseUrl: 'http://localhost/v1', apiKey: 'k', model: registration.model.name };
      },
    };
    const tuner = open({ trainableTargets: ['wolf'], endpointHost });
    expect(tuner.asOpenAIEndpoint({ agentName: 'wolf' }).model).toBe('tuned wolf wolf');
    expect(tuner.asOpenAIEndpoint({ agentName: 'seer', debugModel }).model).toBe('debug');
    expect(() => tuner.asOpenAIEndpoint({ agentName: 'seer' })).toThrow(/No model for agent "seer"/);
    expect(opened.map(({ agentName, episodeId }) => `${episodeId} ${agentName}`)).toEqual(['e wolf', 'e seer']);
  });

  it('says what is missing without a host', () => {
    expect(() => open().asOpenAIEndpoint({ agentName: 'wolf' })).toThrow(/no endpoint host/);
  });
});
