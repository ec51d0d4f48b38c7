import type { ChatRequest } from '@agentjet/core';
import type { PlayNeed, Script, Strategy, Way } from './contract.js';
import { submittingTool } from './fill-schema.js';
import { exampleAnswers, listedOptions, namedTags, systemText } from './requests.js';
import { spellings } from './spellings.js';

/** One way of one strategy. Each play is played once or more on each task. */
export type Play = { readonly strategy: Strategy; readonly way: Way };

/** What the first request of an episode shows to the model. */
export function readNeeds(request: ChatRequest): readonly PlayNeed[] {
  return [
    ...((request.tools?.length ?? 0) > 0 ? (['tools'] as const) : []),
    ...(exampleAnswers(request).length > 0 ? (['examples'] as const) : []),
    ...(systemText(request) === '' ? [] : (['system'] as const)),
    ...(namedTags(request).length > 0 ? (['tags'] as const) : []),
    ...(listedOptions(request).length > 1 ? (['options'] as const) : []),
  ];
}

/**
 * Returns all plays that are possible. If the agent has tools, each text is also handed in through one of them, because
 * some agents read their answer from a tool call.
 */
export function planPlays(strategies: readonly Strategy[], met: readonly PlayNeed[]): readonly Play[] {
  return strategies.flatMap((strategy) =>
    strategy.ways
      .filter(({ needs = [] }) => needs.every((need) => met.includes(need)))
      .flatMap((way) => [
        way,
        ...(met.includes('tools') && way.needs?.includes('tools') !== true ? [throughTool(way)] : []),
      ])
      .map((way) => ({ strategy, way })),
  );
}

/** Hands the text in as the argument of a tool, and then writes it too. */
function throughTool(way: Way): Way {
  return {
    ...way,
    name: `${way.name}, through a tool`,
    open: (scene) => {
      const script = way.open(scene);
      return (request, turn) => {
        const line = script(request, turn);
        const tool = turn === 0 ? submittingTool(request.tools ?? []) : undefined;
        return { ...line, ...(tool !== undefined && { calls: [{ name: tool.name }] }) };
      };
    },
  };
}

/**
 * Returns plays that write the right answer in other spellings. `play` is the play of the right answer that earns most,
 * and the new plays write in its form. A spelling that no answer has is left out.
 */
export function planSpellings({ strategy, way }: Play, answers: readonly string[]): readonly Play[] {
  return spellings
    .filter(({ spell }) => answers.some((answer) => spell(answer) !== undefined))
    .map(({ name, spell }) => ({
      strategy,
      way: {
        name,
        needs: ['answer'],
        isSpelling: true,
        open: (scene): Script => way.open({ ...scene, answer: spell(scene.answer ?? '') }),
      },
    }));
}

/** Whether an answer has this spelling. A task whose answer does not have it is not played. */
export function hasSpelling(name: string, answer: string): boolean {
  return spellings.find((spelling) => spelling.name === name)?.spell(answer) !== undefined;
}
