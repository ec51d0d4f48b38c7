export { countAnswers } from './count-answers.js';
export { shortenAnswer, shortenQuery, toEpisodeLine } from './episode-line.js';
export type {
  Collected,
  EpisodeTranscript,
  Evaluation,
  EvaluationChange,
  HeldOutLoss,
  JobEvent,
  JobListener,
  JobResult,
  Phase,
  PolicyResult,
  RunPlan,
  SftResult,
  StepMetrics,
  TranscriptCall,
} from './events.js';
export { FirstEvaluation } from './first-evaluation.js';
export { type SampledGroup, toGroupLines, toGroupReport } from './group-report.js';
export { packFloats, packInts, unpackFloats, unpackInts } from './packed-numbers.js';
export { contentOf, type EndContent, type Ended, readEnd } from './read-end.js';
export { sealEpisode } from './seal-episode.js';
export { type RowSpans, type SealedRows, sealRows } from './sealed-rows.js';
export { shortenMetadata } from './shorten-metadata.js';
export { readChange, summarizeEvaluation, toEvaluationRecord } from './summarize-evaluation.js';
export { transcriptsFile } from './transcripts-file.js';
