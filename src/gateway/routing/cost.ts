// What a call costs: its tokens at the price of its model.
import type { CompletionRequest, Price, TokenUsage } from '../types.ts';

const perMillion = 1_000_000;

/**
 * In US dollars; null when it is unknown. Reasoning tokens are completion tokens. Endpoints that pass through report no
 * usage, and their tokens are no measure of their cost.
 */
export function costOf(
  price: Price | null,
  tokens: TokenUsage | undefined,
  { api, operation }: Pick<CompletionRequest, 'api' | 'operation'>,
): number | null {
  // Providers count tokens without charge.
  if (operation === 'messages/count_tokens') return 0;
  if (price === null || tokens === undefined) return null;
  if (tokens.isEstimated && api === null && operation !== 'embeddings') return null;
  const { inputPerMillion, outputPerMillion, cacheReadPerMillion, cacheWritePerMillion } = price;
  const { prompt, completion, cacheRead, cacheWrite } = tokens;
  const uncached = Math.max(0, prompt - cacheRead - cacheWrite);
  return (
    (uncached * inputPerMillion +
      cacheRead * (cacheReadPerMillion ?? inputPerMillion) +
      cacheWrite * (cacheWritePerMillion ?? inputPerMillion) +
      completion * outputPerMillion) /
    perMillion
  );
}
