// State and latency of a model.
import type { Model } from '../../../../src/api/models.ts';
import { formatDuration } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Detail } from '../../components/table.tsx';
import { Until, useNow } from '../../components/time.tsx';

export function ModelState({ model }: { readonly model: Model }) {
  const now = useNow();
  if (!model.is_active) return <StateBadge tone="idle">disabled</StateBadge>;
  if (!model.is_configured) return <StateBadge tone="idle">no key</StateBadge>;
  if (model.available_at === null || Date.parse(model.available_at) <= now)
    return <StateBadge tone="good">available</StateBadge>;
  return (
    <div>
      <StateBadge tone="warning">cooling down</StateBadge>
      <Detail>
        available <Until at={model.available_at} over="now" />
      </Detail>
    </div>
  );
}

/** Cause of the cooldown; null without one. */
export function coolingCause(model: Model): string | null {
  const [first] = model.cooldowns;
  if (first === undefined) return null;
  return first.reason === null ? first.cause : `${first.cause}: ${first.reason}`;
}

/** Average latency; a dash before the first success. */
export const latencyText = ({ average_response_time: seconds }: Model): string =>
  seconds === 0 ? '–' : formatDuration(seconds * 1_000);
