import type { Server } from 'node:http';
import { pathToFileURL } from 'node:url';
import { servePlayedModel } from '../played-model.js';
import { type Attribute, attributes, forms } from './write-documents.js';

/**
 * This OpenAI-compatible server replaces a large model, so you need no API key. It makes up questions about the
 * sentences of a passage. Like a large model, it is good but not perfect: sometimes its evidence is not in the passage.
 */

type Asked = {
  readonly passage?: string;
  readonly question?: string;
  readonly asked_already?: readonly string[];
};

/** Returns the sentence about an attribute, and its value. */
function findSentence(passage: string, attribute: Attribute): readonly [sentence: string, value: string] {
  const [before = '', after = ''] = forms[attribute].tell('@').split('@');
  const [sentence = '', value = 'unknown'] =
    new RegExp(`${before}(\\w+)${after.replaceAll('.', '\\.')}`).exec(passage) ?? [];
  return [sentence, value];
}

function askAbout(passage: string, asked: readonly string[]): object {
  const [, place = ''] = /The (\w+ of [A-Z]\w+)/.exec(passage) ?? [];
  const attribute = attributes.find((each) => !asked.includes(forms[each].ask(place))) ?? attributes[0];
  const [sentence, value] = findSentence(passage, attribute);
  const isInvented = attribute === 'cost' && place.length % 4 === 0;
  return {
    question: forms[attribute].ask(place),
    answer: value,
    evidence: isInvented ? `They say: ${sentence}` : sentence,
  };
}

function answer(question: string, passage: string | undefined): object {
  if (passage === undefined) return { answer: 'unknown' };
  const [, place = ''] = /the (\w+ of [A-Z]\w+)/.exec(question) ?? [];
  const attribute = attributes.find((each) => forms[each].ask(place) === question) ?? attributes[0];
  return { answer: findSentence(passage, attribute)[1] };
}

/** Resolves when it listens on this machine. Port 0 picks a free port. */
export function openWriterModel(port: number): Promise<Server> {
  return servePlayedModel('writer', port, ({ messages }) => {
    const { passage, question, asked_already: asked = [] } = JSON.parse(messages[1]?.content ?? '{}') as Asked;
    const said = question === undefined ? askAbout(passage ?? '', asked) : answer(question, passage);
    return { content: JSON.stringify(said) };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await openWriterModel(8124);
  console.log('A writer of questions listens on http://127.0.0.1:8124/v1. Ctrl-C ends it.');
}
