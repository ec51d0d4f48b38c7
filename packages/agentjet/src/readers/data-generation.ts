import path from 'node:path';
import { ConfigError, setting, z } from '@agentjet/core';
import { fieldsOf, tableSettings } from '@agentjet/data/registrations';
import { modelSettings } from '@agentjet/model-client/settings';
import { defineReader } from '@agentjet/rollout/inputs';

export const dataGeneration = defineReader({
  name: 'data_generation',
  section: z
    .strictObject({
      document_reader: z.strictObject({
        document_path: setting(
          z.array(z.string().min(1)),
          [],
          'files or patterns, such as docs/**/*.pdf (.pdf, .docx, .html, .md, .txt); without any, the tasks are variations of the examples',
          { path: 'file' },
        ),
        chunk_size: setting(z.int().min(200), 5120, 'length of a passage in characters; it ends with a whole sentence'),
      }),
      query_reader: z.strictObject({
        file_path: setting(z.string().min(1).nullable(), null, 'examples: .jsonl, .json, .csv or .parquet', {
          path: 'file',
        }),
        fields: tableSettings.fields,
      }),
      task_num: setting(z.int().positive(), 10, 'number of training tasks'),
      evaluation: setting(
        z.number().min(0).lt(1),
        0.2,
        'share of the documents, or of the examples, from which only evaluation tasks are made',
      ),
      model: modelSettings,
      checks: z
        .strictObject({
          evidence: setting(z.boolean(), true, 'requires that the evidence is in the passage word for word'),
          with_passage: setting(z.boolean(), true, 'requires that the model finds the answer in the passage'),
          without_passage: setting(
            z.boolean(),
            true,
            'requires that the model does not know the answer without the passage',
          ),
        })
        .describe('checks of questions about documents'),
      similarity: setting(
        z.number().gt(0).max(1),
        0.8,
        'lowest share of common three-word sequences at which a question counts as a repetition',
      ),
      embeddings: z
        .strictObject({
          name: modelSettings.shape.name,
          base_url: modelSettings.shape.base_url,
          keys: modelSettings.shape.keys,
          backup_keys: modelSettings.shape.backup_keys,
          similarity: setting(z.number().gt(0).max(1), 0.9, 'lowest cosine of two questions with the same meaning'),
        })
        .describe('embedding model that finds questions with the same meaning; name null: only words are compared'),
    })
    .describe(
      'tasks that a model makes from documents or a few examples; they are made once and kept next to the runs',
    ),
  async open(section, { config, onNotice = () => undefined, signal }) {
    const { documentReader, queryReader } = section;
    if (documentReader.documentPath.length === 0 && queryReader.filePath === null)
      throw new ConfigError(
        'no_tasks',
        'task_reader.data_generation has neither documents nor examples. Set document_reader.document_path, or query_reader.file_path.',
      );
    const { createGenerationReader } = await import('@agentjet/generation');
    return createGenerationReader({
      ...section,
      queryReader: { filePath: queryReader.filePath, fields: fieldsOf(queryReader.fields) },
      dir: path.join(config.experimentDir, config.experimentName, 'generated'),
      seed: config.trainerCommon.seed,
      onNotice,
      signal,
    });
  },
});
