// State, recent success rate and latency of a model.
import type { Model } from '../../../../src/api/models.ts';
import { formatDuration, numberText, percentText } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Detail } from '../../components/table.tsx';
import { Until, useNow } from '../../components/time.tsx';
import type { Tone } from '../../theme.ts';

const states: Readonly<Record<Model['state'], readonly [tone: Tone, label: string]>> = {
  retired: ['idle', 'retired'],
  disabled: ['idle', 'disabled'],
  'no-key': ['idle', 'no key'],
  'cooling-down': ['warning', 'cooling down'],
  'quota-exhausted': ['warning', 'quota exhausted'],
  failing: ['bad', 'failing'],
  available: ['good', 'available'],
};

export function ModelState({ model }: { readonly model: Model }) {
  const now = useNow();
  const { available_at: at, health } = model;
  // A cooldown ends while the page is open.
  const isOver = at !== null && Date.parse(at) <= now;
  const [tone, label] = states[isOver ? (health.is_failing ? 'failing' : 'available') : model.state];
  return (
    <div>
      <StateBadge tone={tone}>{label}</StateBadge>
      {at === null || isOver ? null : (
        <Detail>
          available <Until at={at} over="now" />
        </Detail>
      )}
    </div>
  );
}

/** Cause of the cooldown or of the last failure; null without one. */
export function stateCause({ cooldowns: [first], health }: Model): string | null {
  if (first === undefined) return health.is_failing ? health.last_failure : null;
  return first.reason === null ? first.cause : `${first.cause}: ${first.reason}`;
}

/** `0% of 18`, of the requests of the last 15 minutes; a dash without any. */
export const recentRateText = ({
  success_rate: rate,
  request_count: count,
}: Pick<Model['health'], 'success_rate' | 'request_count'>): string =>
  rate === null ? '–' : `${percentText(rate)} of ${numberText(count)}`;

/** Average latency; a dash before the first success. */
export const latencyText = ({ average_response_time: seconds }: Model): string =>
  seconds === 0 ? '–' : formatDuration(seconds * 1_000);
