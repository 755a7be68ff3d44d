// How much an embedder's word counts, where that is known.
import type { Blend } from '../ports.ts';

/** Safe with any embedder that was tried, and a gain with most. */
export const cautiousBlend: Blend = { kind: 'rerank', weight: 0.2, depth: 100 };
/** For embedders that rank as well as BM25 or better by themselves. */
export const equalBlend: Blend = { kind: 'rrf', k: 60 };

/** Measured on public collections: from 0.08 on it costs more than 0.005 of Cranfield's MRR@10, below it gains less. */
const measured: Readonly<Record<string, number>> = { 'use-lite-en-0.2.0': 0.07 };

/** Families whose published figures on BEIR are well above BM25. `headworks eval beir --calibrate` measures any. */
const strong =
  /(^|[/:_-])(text-embedding-(3|00[45])|gemini-embedding|voyage-|embed-(english|multilingual)-v[34]|embed-v4|bge-|gte-|e5-|multilingual-e5|mxbai-embed|nomic-embed|snowflake-arctic-embed|jina-embeddings-v[234]|qwen3-embedding)/i;

/** What the setting says (`rrf`, or a weight), else what is known of the model. */
export function blendOf(model: string, setting: string | null): Blend {
  if (setting === 'rrf') return equalBlend;
  const weight = setting === null ? measured[model] : Number(setting);
  if (weight !== undefined) return { kind: 'rerank', weight, depth: 100 };
  return strong.test(model) ? equalBlend : cautiousBlend;
}
