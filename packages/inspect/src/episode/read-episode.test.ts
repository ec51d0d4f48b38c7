import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createContextTracker, toTurnRecord } from '@agentjet/context-tracker';
import { nanoModelDir } from '@agentjet/nano';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createRunFolder, type EpisodeRecord, type RunFolder, toSampleRecord } from '@agentjet/run-folder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectEpisode } from './read-episode.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'inspect-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function createRun(modelPath: string, records: readonly EpisodeRecord[]): Promise<RunFolder> {
  const run = await createRunFolder({
    experimentDir: dir,
    experimentName: 'e',
    configYaml: `ajet:\n  model:\n    path: ${modelPath}\n`,
  });
  await run.recordStep({ step: 1 }, records);
  return run;
}

/** Records one call. */
async function record(episodeId: string): Promise<EpisodeRecord> {
  const chatTokenizer = await loadChatTokenizer(nanoModelDir);
  const tracker = createContextTracker({ episodeId, chatTokenizer });
  const turn = tracker.begin({ agentName: 'a', targetTag: 't' }, { messages: [{ role: 'user', content: 'hello' }] });
  const ids = chatTokenizer.tokenizer.encode('hi');
  turn.commit({ ids, logprobs: new Float32Array(ids.length).fill(-1), finishReason: 'length', policyVersion: 2 });
  return {
    episode_id: episodeId,
    turns: tracker.describe().map(toTurnRecord),
    samples: tracker.finish().map(toSampleRecord),
  };
}

const textOf = ({ createDecoder, tree }: Awaited<ReturnType<typeof inspectEpisode>>): string | undefined => {
  const decoder = createDecoder?.();
  return decoder && Array.from(tree.branches[0]?.ids ?? [], (id) => decoder.push(id)).join('') + decoder.flush();
};

describe('an episode', () => {
  it('comes with its turns as they were recorded', async () => {
    const run = await createRun('nano', [await record('e1-a-r0')]);
    const { tree } = await inspectEpisode(run.dir, 'e1-a-r0');
    expect(tree.turns).toMatchObject([
      {
        agentName: 'a',
        targetTag: 't',
        policyVersion: 2,
        isTruncated: true,
        fork: null,
        sample: 0,
        splices: [],
        foreignMessages: {},
      },
    ]);
    expect(tree.branches[0]?.spans.map(({ author }) => author)).toEqual(['template', 'user', 'template', 'generated']);
  });

  it('is found by the beginning of its id, if only one begins so', async () => {
    const run = await createRun('nano', [
      await record('e1-a-r0'),
      await record('e1-a-r1'),
      await record('e1-a'),
      await record('e1-b-r0'),
    ]);
    expect((await inspectEpisode(run.dir, 'e1-b')).record.episode_id).toBe('e1-b-r0');
    expect((await inspectEpisode(run.dir, 'e1-a')).record.episode_id).toBe('e1-a');
    await expect(inspectEpisode(run.dir, 'e1-a-')).rejects.toThrow(
      /"e1-a-" is the beginning of 2 episode ids: e1-a-r0, e1-a-r1\. Name one of them\./,
    );
    await expect(inspectEpisode(run.dir, 'x')).rejects.toThrow(/has no episode "x"\. `ajet inspect .*` lists them\./);
    await expect(inspectEpisode(dir, 'x')).rejects.toThrow(/is not a run folder/);
  });
});

describe('its text', () => {
  it('is read with the tokenizer of the newest checkpoint if the model is gone', async () => {
    const run = await createRun('./gone', [await record('e1')]);
    const save = async (checkpoint: string): Promise<void> => {
      await mkdir(checkpoint, { recursive: true });
      for (const name of ['tokenizer.json', 'tokenizer_config.json'])
        await cp(path.join(nanoModelDir, name), path.join(checkpoint, name));
    };
    await run.save({ save }, { step: 1, policyVersion: 1, groupsDrawn: 1 });
    expect(textOf(await inspectEpisode(run.dir, 'e1'))).toBe(
      '<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nhi',
    );
  });

  it('is missing if neither can be read, and the episode still opens', async () => {
    const run = await createRun('./gone', [await record('e1')]);
    const episode = await inspectEpisode(run.dir, 'e1');
    expect(textOf(episode)).toBeUndefined();
    expect(episode.tree.turns).toHaveLength(1);
  });
});
