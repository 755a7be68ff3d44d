// Ingestion: sources → vault → knowledge ← gateway → providers.
import type { Flow } from '../../../../src/api/overview.ts';
import { counted, plural, rateText } from '../../parts/format.ts';
import { StateBadge } from '../../parts/state-badge.tsx';
import { Ago, Until } from '../../parts/time.tsx';
import type { Tone } from '../../theme.ts';
import { Arrow } from './arrow.tsx';
import classes from './flow-diagram.module.css';
import { FlowCard, Line } from './flow-card.tsx';
import { callsNow, degradedOf, backoffText, requestsInFlight } from './labels.ts';

/** Maximum lines of a list. */
const mostLines = 3;

export function Ingestion({ flow }: { readonly flow: Flow }) {
  const { knowledge, gateway, last_minute: minute, minutes } = flow;
  const { requests_per_minute_limit: limit } = gateway;
  const running = flow.extraction.running.filter(({ state }) => state === 'running');
  const rate = running.reduce((sum, run) => sum + (run.items_per_second ?? 0), 0);
  return (
    <section aria-label="Ingestion" className={classes['stream']}>
      <SourcesCard flow={flow} running={running} />
      <Arrow says={rate > 0 ? rateText(rate) : null} isBusy={rate > 0} />
      <VaultCard flow={flow} running={running} />
      <Arrow says={knowledge.jobs_running > 0 ? 'extracting' : null} isBusy={knowledge.jobs_running > 0} />
      <FlowCard
        name="Knowledge"
        href="/knowledge"
        value={minute.documents_read}
        unit={`${plural(minute.documents_read, 'document')}/min`}
        degraded={degradedOf(flow.degraded, 'knowledge')}
        bars={{ all: minutes.map(({ documents_read: read }) => read) }}
      >
        <Line>
          {knowledge.jobs_running + knowledge.jobs_waiting === 0
            ? 'Queue empty'
            : `${counted(knowledge.jobs_running, 'job')} running, ${knowledge.jobs_waiting} queued`}
        </Line>
      </FlowCard>
      <Arrow says={null} isBusy={minute.model_calls > 0 && knowledge.jobs_running > 0} isBack />
      <FlowCard
        name="Gateway"
        href="/models"
        value={minute.model_calls}
        unit={limit === null ? `${plural(minute.model_calls, 'call')}/min` : `of ${limit} calls/min`}
        share={limit === null ? null : minute.model_calls / limit}
        degraded={degradedOf(flow.degraded, 'gateway')}
        bars={{
          all: minutes.map(({ model_calls: calls }) => calls),
          bad: minutes.map(({ model_failures: failures }) => failures),
        }}
      >
        <Line>{minute.model_failures > 0 ? `${minute.model_failures} failed` : 'None failed'}</Line>
        <Line>{requestsInFlight(gateway)}</Line>
        {limit === null && gateway.available > 0 ? <Line>Some models have no quota</Line> : null}
      </FlowCard>
      <Arrow says={null} isBusy={minute.model_calls > 0} />
      <FlowCard
        name="Providers"
        href="/models"
        value={gateway.available}
        unit={`${plural(gateway.available, 'model')} available`}
      >
        <Cooling gateway={gateway} />
      </FlowCard>
    </section>
  );
}

type Running = Flow['extraction']['running'];

function SourcesCard({ flow, running }: { readonly flow: Flow; readonly running: Running }) {
  const { sources } = flow.extraction;
  const { calls, limit } = callsNow(running);
  if (running.length === 0)
    return (
      <FlowCard name="Sources" href="/extraction" value={sources} unit={plural(sources, 'source')}>
        {sources === 0 ? (
          <Line>No sources yet</Line>
        ) : (
          <>
            <Line>Idle</Line>
            <Line>Rate limit {flow.extraction.calls_per_minute_limit}/min</Line>
          </>
        )}
      </FlowCard>
    );
  return (
    <FlowCard
      name="Sources"
      href="/extraction"
      value={calls}
      unit={limit === null ? 'calls/min' : `of ${limit} calls/min`}
      share={limit === null ? null : calls / limit}
    >
      {running.slice(0, mostLines).map((run) => (
        <Line key={run.id}>
          {run.source}: {backoffText(run) ?? 'no 429s'}
        </Line>
      ))}
    </FlowCard>
  );
}

function VaultCard({ flow, running }: { readonly flow: Flow; readonly running: Running }) {
  const { running: open, last_finished: last } = flow.extraction;
  const waiting = open.length - running.length;
  return (
    <FlowCard
      name="Vault"
      href="/extraction"
      value={running.length}
      unit={plural(running.length, 'active run')}
      degraded={degradedOf(flow.degraded, 'extraction')}
    >
      {running.slice(0, mostLines).map(({ id, source, items, total }) => (
        <Line key={id}>
          {source}: {items}
          {total === null ? '' : ` of ${total}`} items
        </Line>
      ))}
      {waiting > 0 ? <Line>{waiting} queued</Line> : null}
      {open.length > 0 ? null : last === null ? (
        <Line>No runs yet</Line>
      ) : (
        <Line>
          {last.source}: <StateBadge tone={lastTone(last.state)}>{last.state}</StateBadge>{' '}
          {counted(last.items, 'item')}, <Ago at={last.finished_at} />
        </Line>
      )}
    </FlowCard>
  );
}

const lastTone = (state: string): Tone =>
  state === 'completed' ? 'good' : state === 'failed' ? 'bad' : 'warning';

function Cooling({ gateway: { available, cooling, without_key: keyless } }: Pick<Flow, 'gateway'>) {
  if (cooling.length === 0)
    return (
      <Line>
        {available === 0 && keyless > 0 ? `${counted(keyless, 'model')} without a key` : 'No cooldowns'}
      </Line>
    );
  return (
    <>
      {cooling.slice(0, mostLines).map(({ id, name, available_at: at, cause }) => (
        <Line key={id}>
          {name}: available <Until at={at} over="now" />
          {cause === null ? '' : ` (${cause})`}
        </Line>
      ))}
      {cooling.length > mostLines ? <Line>and {cooling.length - mostLines} more</Line> : null}
    </>
  );
}
