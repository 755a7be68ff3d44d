// Extractions of a command, with the settings and secrets of the configuration.
import type { Config } from '../config/index.ts';
import { secretsOf } from '../config/index.ts';
import type { Estimate, ExtractionSummary, ExtractOptions, SourceChoice } from '../extraction/index.ts';
import * as extraction from '../extraction/index.ts';

export type { Estimate, ExtractionSummary, SourceChoice } from '../extraction/index.ts';

export type CommandExtractOptions = Omit<ExtractOptions, 'secrets'>;

/** Extracts into a vault. */
export function extract(
  config: Config,
  choice: SourceChoice,
  options: CommandExtractOptions,
): Promise<ExtractionSummary> {
  return extraction.extract(config, choice, { ...options, secrets: secretsOf(config) });
}

/** Estimates the cost of `extract`. */
export function estimateExtraction(
  config: Config,
  choice: SourceChoice,
  options: CommandExtractOptions,
): Promise<Estimate> {
  return extraction.estimateExtraction(config, choice, { ...options, secrets: secretsOf(config) });
}
