export { findChanges, summarizeEpisodes } from './episode/summarize-episodes.js';
export { loadRunTokenizer } from './episode/run-tokenizer.js';
export { inspectEpisode } from './episode/read-episode.js';
export { renderPage } from './page/render-page.js';
export { describeEpisode, type Fact } from './facts/episode-facts.js';
export { formatEpisode } from './terminal/format-episode.js';
export { formatEpisodeList } from './terminal/format-episode-list.js';
export { formatTokens } from './terminal/format-tokens.js';
export { choosePalette } from './terminal/palette.js';
