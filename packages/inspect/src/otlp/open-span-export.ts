import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@agentjet/core';
import { openRunFolder, type RecordedEpisode } from '@agentjet/run-folder';
import { hasTurns, toDocuments } from '../atif/to-documents.js';
import { loadRunChatTokenizer, modelNameOf } from '../episode/run-tokenizer.js';
import { openSpanSender, type SpanSender } from './send-spans.js';
import { isChosenForExport, type OtlpSpan, type SpanValues } from './span.js';
import { toOtlpJson } from './to-otlp-json.js';
import { toSpans } from './to-spans.js';

type EpisodePhase = RecordedEpisode['phase'];

export type SpanExportOptions = {
  readonly runDir: string;
  readonly project: string;
  readonly experiment: string;
  /** The share of the episodes that is exported. The same episodes are chosen again if a step is repeated. */
  readonly share: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
};

export interface SpanExport {
  /** Exports the recorded episodes of a step. Resolves to the number of spans. */
  exportStep(step: number, phase: EpisodePhase): Promise<number>;
  close(): Promise<void>;
}

/**
 * Exports the episodes of a run as traces: to the receiver that `OTEL_EXPORTER_OTLP_ENDPOINT` (or `..._TRACES_ENDPOINT`)
 * names, otherwise to `<run>/otlp/`, one file of OTLP as JSON for each step, with a line for each episode. Repeating a step gives the same ids.
 */
export async function openSpanExport(options: SpanExportOptions): Promise<SpanExport> {
  const { runDir, project, experiment, share, env = process.env } = options;
  const resource: SpanValues = {
    'service.name': project,
    'agentjet.experiment': experiment,
    'agentjet.run': path.basename(runDir),
    'openinference.project.name': project,
  };
  const isSent = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].some((name) => env[name]);
  const sender: SpanSender | undefined = isSent ? await openSpanSender(resource) : undefined;
  const readSpans = createSpanReader(runDir, share);
  return {
    exportStep: async (step, phase) => {
      const episodes = await readSpans(step, phase);
      if (episodes.length === 0) return 0;
      if (sender === undefined) {
        const lines = episodes.map((spans) => toOtlpJson(spans, resource));
        await writeSpans({ runDir, step, phase }, lines);
      } else for (const spans of episodes) await sender.send(spans); // receivers limit the bytes of a request
      return episodes.flat().length;
    },
    close: async () => sender?.close(),
  };
}

/** Returns a function that reads the spans of each sampled episode of a step. It loads the tokenizer of the run once. */
function createSpanReader(runDir: string, share: number) {
  let opened: Promise<Awaited<ReturnType<typeof open>>> | undefined;
  return async (step: number, phase: EpisodePhase): Promise<readonly (readonly OtlpSpan[])[]> => {
    opened ??= open(runDir);
    const { run, chatTokenizer, modelName } = await opened;
    const records = (await run.episodes.readStep(step)).filter((record) => {
      return record.phase === phase && isChosenForExport(record.episode_id, share);
    });
    return records
      .map((record) => {
        const isReadable = chatTokenizer !== undefined && hasTurns(record);
        return toSpans(record, isReadable ? toDocuments(record, { chatTokenizer, modelName }) : []);
      })
      .filter((spans) => spans.length > 0);
  };
}

async function open(runDir: string) {
  const run = await openRunFolder(runDir);
  return { run, chatTokenizer: await loadRunChatTokenizer(run), modelName: await modelNameOf(run) };
}

type Written = { readonly runDir: string; readonly step: number; readonly phase: EpisodePhase };

async function writeSpans({ runDir, step, phase }: Written, lines: readonly object[]): Promise<void> {
  const dir = path.join(runDir, 'otlp');
  await mkdir(dir, { recursive: true });
  const file = path.join(dir, `${phase}-${String(step).padStart(6, '0')}.jsonl`);
  await replaceFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
