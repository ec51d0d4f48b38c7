import path from 'node:path';
import { ConfigError, setting, z } from '@agentjet/core';
import { modelSettings } from '@agentjet/model-client/settings';
import { defineReader } from '@agentjet/rollout/inputs';

export const feedbackTracing = defineReader({
  name: 'feedback_tracing',
  section: z
    .strictObject({
      sources: setting(
        z.array(z.string().min(1)),
        [],
        'files or patterns: OTLP as JSON (gen_ai.* or OpenInference), JSON Lines with messages and answer, trajectories in ATIF; or folders of runs that collected transcripts',
        { path: 'file' },
      ),
      feedback: z.strictObject({
        file_path: setting(
          z.string().min(1).nullable(),
          null,
          'JSON Lines with id or conversation_id, and thumb, score or correction; null: the traces themselves have the feedback',
          { path: 'file' },
        ),
        good_from: setting(z.number().nullable(), null, 'lowest score of a good answer; null: scores are not labels'),
      }),
      filters: z.strictObject({
        keep: setting(
          z.enum(['all', 'rated', 'corrected', 'bad', 'known']),
          'all',
          'answers that become tasks: all | rated: with feedback | corrected | bad: corrected, thumb down, or below good_from | known: corrected, thumb up, or from good_from on, so that a right answer is known',
        ),
        rubric: setting(
          z.string().min(1).nullable(),
          null,
          'description of the questions worth training on, for the model below; null: all questions',
        ),
        model: modelSettings,
      }),
      validation: z.strictObject({
        file_path: setting(
          z.string().min(1).nullable(),
          null,
          'file of evaluation tasks, which remain the same when traces are added; null: a share of the conversations',
          { path: 'file' },
        ),
      }),
      split: z.strictObject({
        evaluation: setting(
          z.number().min(0).lt(1),
          0.3,
          'share of the conversations for evaluation, if validation.file_path is null',
        ),
      }),
    })
    .describe('questions to a deployed agent, and the feedback of people on its answers'),
  async open(section, { config, onNotice = () => undefined, signal }) {
    if (section.sources.length === 0)
      throw new ConfigError(
        'no_tasks',
        'task_reader.type is feedback_tracing, but task_reader.feedback_tracing.sources is empty. Name files, such as traces/*.jsonl.',
      );
    const { createTracingReader } = await import('@agentjet/traces');
    return createTracingReader({
      ...section,
      dir: path.join(config.experimentDir, config.experimentName, 'traces'),
      onNotice,
      signal,
    });
  },
});
