import { describe, expect, it } from 'vitest';
import { passagesOf } from '../../.ci/passages.mjs';
import { bannedIn, sentencesOf } from '../../.ci/phrases.mjs';

const found = (sentence: string) => bannedIn(sentence).map(({ phrase }) => phrase);

describe('phrases', () => {
  it.each([
    ['whoever', 'Stops whoever waits.'],
    ['whatever', 'It keeps whatever comes.'],
    ['of its own', 'Each run has a folder of its own.'],
    ['of their own', 'Runs have folders of their own.'],
    ['stands', 'The text stands in a list.'],
    ['stands', 'Their errors stand in the folder.'],
    ['stands', 'A version stands for one set of weights.'],
    ['goes on', 'The run goes on from its checkpoint.'],
    ['goes on', 'Then the others go on.'],
    ['goes on', 'An answer went on in other words.'],
    ['goes on', 'It is shown as going on.'],
    ['a text', 'The value is of type number, not a text.'],
    ['a text', 'Pass a text that is not empty.'],
    ['is no', 'The folder is no checkpoint.'],
    ['is no', 'Such lines are no tasks.'],
    ['is none', 'It gives the file, or undefined if that is none.'],
    ['beside', 'It is printed beside the metrics.'],
    ['beside', 'Beside episodes there are steps.'],
    ['behind', 'Writes trees one behind the other.'],
    ['behind', 'A signal ends it behind the step.'],
    ['tells', 'The callback is told each step.'],
    ['tells', 'The metrics of a step tell of them.'],
    ['tells', 'Calls are told to the listener.'],
    ['tells', 'The report tells the number of tokens.'],
    ['tells', 'A taken port is told before the run is made.'],
    ['where', 'Undefined where the server knows no ranges.'],
    ['where', 'Throws TypeError where there is no model.'],
    ['where', 'Where stdout is not a terminal, lines are printed.'],
    ['where', 'Skipped where vLLM is not installed.'],
    ['where', 'Uses the kernel where it is installed, else SDPA.'],
    ['where', 'A layer takes 59 us where its bytes need 24.'],
  ])('finds "%s" in: %s', (phrase, sentence) => {
    expect(found(sentence)).toEqual([phrase]);
  });

  it.each([
    'AI stands for artificial intelligence.',
    'In a pattern, X stands for any characters.',
    'A small server stands in for the provider.',
    'A short stand-in replaces the history.',
    'The lines of a comment go on top.',
    'Nobody knows what is going on.',
    'Everything is written to a text file.',
    'There is no judge.',
    'There may be no checkpoint yet.',
    'The worker is no longer needed.',
    'It is no more than a warning.',
    'Stop if the answer is no.',
    'Undefined if there is none.',
    'A test is beside the source.',
    'Paths are looked up beside the YAML file that names them.',
    'Run the server behind a proxy.',
    'AgentJet trains the model behind your agent.',
    'A failed call leaves nothing behind.',
    'The sampler may be two versions behind.',
    'Agents are told apart by their names.',
    'A judge tells good answers from bad ones.',
    'The worker ends when it is told to stop.',
    'Listens on the loopback unless told otherwise.',
    'The error says where the value is.',
    'Open the folder where the run is.',
    'It resumes from where it was.',
    'Where do tasks come from?',
    'Where the tasks come from',
    'Its loss is a / b, where a is the sum of rewards.',
  ])('finds nothing in: %s', (sentence) => {
    expect(found(sentence)).toEqual([]);
  });
});

describe('passages', () => {
  const textsOf = (source: string, file: string) => passagesOf(source, file).map(({ text }) => text.trim());

  it('are the comments and strings of TypeScript, and no code', () => {
    const source = [
      '// One sentence over',
      '// two lines.',
      'const where = stands(`It has ${value} of them.`) + 1;',
      "throw new Error('first part, ' + 'second part');",
      '/** Documents `whatever`\n * the function. */',
      'const found = /whoever/;',
    ].join('\n');
    expect(textsOf(source, 'a.ts')).toEqual([
      'One sentence over\n two lines.',
      'Documents  X \nthe function.',
      'It has X of them.',
      'first part, second part',
    ]);
  });

  it('are the comments and strings of Python', () => {
    const source = [
      '# One sentence over',
      '# two lines.',
      'def run(stands):',
      '    """Runs it."""',
      "    raise ValueError(f'{value} is not ' 'a number, don\\'t')",
    ].join('\n');
    expect(textsOf(source, 'a.py')).toEqual([
      'One sentence over\n two lines.',
      'Runs it.',
      "X is not a number, don\\'t",
    ]);
  });

  it('are the comments of YAML and of shells', () => {
    expect(textsOf('key: value # a comment\nother: "#1"\n# more\n# of it\n', 'a.yaml')).toEqual([
      'a comment',
      'more\nof it',
    ]);
    expect(textsOf('#!/bin/sh\necho "Run $name" # says so\n', 'run')).toEqual(['says so', 'Run X']);
  });

  it('are the paragraphs, items and cells of a page, and the comments of its code blocks', () => {
    const page = [
      '# Title here',
      '',
      'A paragraph with `code` and',
      'a [link](where.md).',
      '- An item',
      '  of two lines.',
      '',
      '| a cell | another cell |',
      '```sh',
      'ajet run # starts it',
      '```',
      '<!-- whoever -->',
    ].join('\n');
    expect(textsOf(page, 'a.md')).toEqual([
      'starts it',
      'Title here',
      'A paragraph with  X  and\na link.',
      'An item\n  of two lines.',
      'a cell',
      'another cell',
    ]);
  });

  it('say on which line they are', () => {
    expect(passagesOf('\n\n# here it is\n', 'a.yaml')).toEqual([{ text: 'here it is', line: 3 }]);
    expect(passagesOf('\n```ts\n// here it is\n```\n', 'a.md').at(0)).toMatchObject({ line: 3 });
  });

  it('have sentences of at least three words', () => {
    expect(sentencesOf('Runs it. It has two parts: one, and another. See it!\n\nA new paragraph')).toEqual([
      'It has two parts: one, and another.',
      'A new paragraph',
    ]);
  });
});
