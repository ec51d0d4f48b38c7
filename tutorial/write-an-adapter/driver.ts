import type { AdapterDriver } from '@agentjet/adapter-kit';
import { type Actor, type Line, remember, type Stage } from './parley.js';

type Scene = readonly Line[];
type Driver = AdapterDriver<Actor, Scene>;

/** The contract suite calls Parley through these functions. */
export function createDriver(asModel: Driver['asModel']): Driver {
  return {
    name: 'parley',
    asModel,
    debugModel: { act: () => Promise.reject(new Error('never called')) },
    says: ['stream', 'abort', 'temperature', 'maxTokens'],
    begin: (question, system) => [
      { who: 'director', words: system },
      { who: 'guest', words: question },
    ],
    addQuestion: (scene, words) => [...scene, { who: 'guest', words }],
    addToolResults: (scene, results) => [
      ...scene,
      ...results.map(({ id, content }): Line => ({ who: 'prop', ticket: id, words: content })),
    ],
    call: (actor, scene, options) => act(actor, scene, options),
    stream: (actor, scene, options, onWords) => act(actor, scene, options, onWords),
  };
}

const act = async (
  actor: Actor,
  scene: Scene,
  { tools, sampling, signal }: Parameters<Driver['call']>[2],
  onWords?: Stage['onWords'],
): ReturnType<Driver['call']> => {
  const line = remember(
    await actor.act(scene, {
      props: tools.map(({ name, description = '', parameters }) => ({
        name,
        about: description,
        shape: parameters,
        use: () => '',
      })),
      ...(sampling.temperature !== undefined && { warmth: sampling.temperature }),
      ...(sampling.maxTokens !== undefined && { longest: sampling.maxTokens }),
      ...(signal && { curtain: signal }),
      ...(onWords && { onWords }),
    }),
  );
  return {
    history: [...scene, line],
    text: line.words,
    toolCalls: (line.uses ?? []).map(({ ticket, prop }) => ({ id: ticket, name: prop })),
  };
};
