// Tells what fell back: a row in the ledger and a line in the log for each entity. Ids, not names, above debug level.
import { kindOf, messageOf } from '../../core/index.ts';
import type { MentionPlace, ReviewReason } from '../ports.ts';
import type { Fallback } from './chunk-resolution.ts';
import { whyUnconfirmed } from './confirm-match.ts';
import type { ResolutionParts } from './resolution-parts.ts';

export const resolutionLedgerKinds = {
  'embedding-missing': 'knowledge.entity-embedding-missing',
  'candidates-unknown': 'knowledge.candidates-unknown',
  'confirmation-failed': 'knowledge.confirmation-failed',
  'resolution-failed': 'knowledge.resolution-failed',
} as const satisfies Readonly<Record<Exclude<ReviewReason, 'uncertain'>, string>>;

const sentences: Readonly<Record<Fallback['reason'], string>> = {
  'embedding-missing': 'An entity was made without a vector: none could be made for it.',
  'candidates-unknown':
    'An entity was made without a look whether it is known already: the store took too long.',
  'confirmation-failed': 'An entity was made apart from one it may be.',
  'resolution-failed': 'An entity was made as it is called: resolving its name failed.',
};

export function reportFallbacks(
  { ledger, log }: Pick<ResolutionParts, 'ledger' | 'log'>,
  { spaceId, artifactUid, revisionId, chunkId }: MentionPlace,
  fallbacks: readonly Fallback[],
): void {
  for (const { reason, entityId, group, error } of fallbacks) {
    const context = {
      entity_id: entityId,
      entity_type: group.type,
      space_id: spaceId,
      artifact_uid: artifactUid,
      revision_id: revisionId,
      chunk_id: chunkId,
      error_type: kindOf(error),
      error_message: messageOf(error),
    };
    // Nobody waits for the row: the flag on the entity is in the store already.
    void ledger
      .record({
        kind: resolutionLedgerKinds[reason],
        subject: entityId,
        cause: kindOf(error),
        message:
          reason === 'confirmation-failed'
            ? `${sentences[reason]} ${whyUnconfirmed(error)}`
            : sentences[reason],
        details: context,
      })
      .catch(() => undefined);
    log.warn('entity resolution fell back', { ...context, reason });
    log.debug('entity resolution fell back on a name', { entity_id: entityId, surface_form: group.name });
  }
}
