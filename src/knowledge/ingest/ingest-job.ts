// The job that works on an accepted revision.
import { z } from 'zod';
import type { JobDefinition } from '../../core/index.ts';

const payload = z.strictObject({ spaceId: z.number().int(), revisionId: z.guid() });

export type IngestJobPayload = z.infer<typeof payload>;

export const ingestJobName = 'knowledge.ingest';

/** Only a job that hangs meets it: chunks that are done stay done, and the next try goes on behind them. */
const timeoutMs = 6 * 3_600_000;

export function ingestJob(concurrency: number): JobDefinition<IngestJobPayload> {
  return {
    name: ingestJobName,
    description: 'Reads an artifact, finds entities and events in it, embeds it and puts it into the graph.',
    parse: (raw) => payload.parse(raw),
    // Five tries in all, waiting min(30·2ⁿ, 600) seconds.
    retries: 4,
    retryDelayMs: 30_000,
    retryBackoff: true,
    retryDelayMaxMs: 600_000,
    concurrency,
    timeoutMs,
  };
}
