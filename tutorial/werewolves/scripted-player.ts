import type { ChatMessage, ChatModel, ChatRequest, ChatResponse, Random } from '@agentjet/core';
import { findName, mostNamed, type Name, names } from './village.js';

/**
 * Plays any role by rules and reads the same messages as a language model. It is the debug model of the side that
 * does not learn. It trusts a seer, joins the crowd, and otherwise guesses. Werewolves spare each other.
 */
export class ScriptedPlayer implements ChatModel {
  readonly name = 'scripted-player';
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  async generate(request: ChatRequest): Promise<ChatResponse> {
    const content = this.#answer(readMessages(request.messages));
    return {
      id: `scripted-${this.#random.int(2 ** 31)}`,
      model: this.name,
      message: { role: 'assistant', content },
      finishReason: 'stop',
      usage: { promptTokens: 0, completionTokens: 0 },
    };
  }

  #answer(known: Knowledge): string {
    if (known.question.endsWith('kill?')) return `I kill ${this.#guess(known)}.`;
    if (known.question.endsWith('check?')) return `I check ${this.#guess(known)}.`;
    const found = known.isSeer ? known.checked.find((name) => known.alive.includes(name)) : undefined;
    if (known.question.endsWith('Speak.'))
      return found === undefined ? `I suspect ${this.#suspect(known)}.` : `I am the seer. ${found} is a werewolf.`;
    return `I vote for ${found ?? this.#vote(known)}.`;
  }

  #suspect(known: Knowledge): Name {
    const claimed = this.#pick(this.#others(known, known.claims));
    if (claimed !== undefined) return claimed;
    const accused = this.#random.next() < 0.5 ? this.#pick(this.#others(known, known.accusations)) : undefined;
    return accused ?? this.#guess(known);
  }

  #vote(known: Knowledge): Name {
    return (
      this.#pick(this.#others(known, known.claims)) ??
      mostNamed(this.#others(known, known.accusations)) ??
      this.#guess(known)
    );
  }

  #guess(known: Knowledge): Name {
    return this.#pick(this.#others(known, known.alive)) ?? known.self;
  }

  /** Returns those of the given players who are alive, except the player itself and its fellow werewolf. */
  #others(known: Knowledge, candidates: readonly Name[]): readonly Name[] {
    return candidates.filter((name) => known.alive.includes(name) && name !== known.self && name !== known.fellow);
  }

  #pick(candidates: readonly Name[]): Name | undefined {
    return candidates[this.#random.int(candidates.length)];
  }
}

type Knowledge = {
  readonly self: Name;
  readonly fellow: Name | undefined;
  readonly isSeer: boolean;
  /** Returns the other living players. */
  readonly alive: readonly Name[];
  /** Returns the werewolves that the seer has found. */
  readonly checked: readonly Name[];
  /** Returns the players that a seer called a werewolf since the last morning, and the suspected ones. */
  readonly claims: readonly Name[];
  readonly accusations: readonly Name[];
  readonly question: string;
};

function findAll(texts: readonly string[], pattern: RegExp): readonly Name[] {
  return texts.flatMap((text) => findName(pattern.exec(text)?.[1] ?? '') ?? []);
}

function readMessages(messages: readonly ChatMessage[]): Knowledge {
  const texts = messages.map(({ content }) => content);
  const [system = '', ...said] = texts;
  const question = texts.at(-1) ?? '';
  const today = said.slice(said.findLastIndex((text) => text.startsWith('Day')) + 1);
  const claims = findAll(today, /I am the seer\. (\w+) is a werewolf/);
  return {
    self: findName(system) ?? names[0],
    fellow: findName(/with (\w+)/.exec(system)?.[1] ?? ''),
    isSeer: system.includes('the seer'),
    alive: names.filter((name) => question.includes(name)),
    checked: findAll(said, /^(\w+) is a werewolf\.$/),
    claims,
    accusations: [...findAll(today, /I suspect (\w+)/), ...claims],
    question,
  };
}
