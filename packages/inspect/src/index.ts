export { findChanges, summarizeEpisodes } from './episode/summarize-episodes.js';
export { loadRunTokenizer } from './episode/run-tokenizer.js';
export { inspectEpisode } from './episode/read-episode.js';
export {
  compareEvaluations,
  scoreTasks,
  type ComparedEvaluations,
  type ComparedTask,
} from './outcomes/compare-evaluations.js';
export { OutcomeReader, type ShownOutcome } from './outcomes/read-outcomes.js';
export { selectEpisodes, type EpisodeSelection } from './outcomes/select-episodes.js';
export { openSpanExport, type SpanExport, type SpanExportOptions } from './otlp/open-span-export.js';
export { writeAtif, type WrittenAtif } from './atif/write-atif.js';
export { callColumns } from './facts/call-facts.js';
export { describeEpisode, type Fact } from './facts/episode-facts.js';
export { formatEpisode } from './terminal/format-episode.js';
export { formatEpisodeList } from './terminal/format-episode-list.js';
export { formatComparison } from './terminal/format-comparison.js';
export { formatOutcome, type OutcomeLayout } from './terminal/format-outcomes.js';
export { formatTokens } from './terminal/format-tokens.js';
export { choosePalette } from './terminal/palette.js';
