// Ingestion: sources → vault → knowledge ← gateway → providers.
import type { Flow } from '../../../../src/api/overview.ts';
import { counted, plural, rateText } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Ago, Until } from '../../components/time.tsx';
import type { Tone } from '../../theme.ts';
import { Arrow } from './arrow.tsx';
import classes from './flow-diagram.module.css';
import { FlowCard, Line } from './flow-card.tsx';
import { backoffText, callsNow, degradedOf, failureText, requestsInFlight } from './labels.ts';

/** Maximum lines of a list. */
const maxLines = 3;

export function Ingestion({ flow }: { readonly flow: Flow }) {
  const { knowledge, gateway, last_minute: minute, minutes } = flow;
  const { requests_per_minute_limit: limit } = gateway;
  const running = flow.extraction.running.filter(({ state }) => state === 'running');
  const rate = running.reduce((sum, run) => sum + (run.items_per_second ?? 0), 0);
  return (
    <section aria-label="Ingestion" className={classes['stream']}>
      <SourcesCard flow={flow} running={running} />
      <Arrow label={rate > 0 ? rateText(rate) : null} isBusy={rate > 0} />
      <VaultCard flow={flow} running={running} />
      <Arrow label={knowledge.jobs_running > 0 ? 'extracting' : null} isBusy={knowledge.jobs_running > 0} />
      <FlowCard
        name="Knowledge"
        href="/knowledge"
        value={minute.documents_read}
        unit={`${plural(minute.documents_read, 'document')}/min`}
        degraded={degradedOf(flow.degraded, 'knowledge')}
        bars={{ all: minutes.map(({ documents_read: read }) => read) }}
      >
        <Line>
          {knowledge.jobs_running + knowledge.jobs_queued === 0
            ? 'Queue empty'
            : `${counted(knowledge.jobs_running, 'job')} running, ${knowledge.jobs_queued} queued`}
        </Line>
      </FlowCard>
      <Arrow label={null} isBusy={minute.model_calls > 0 && knowledge.jobs_running > 0} isBack />
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
        {limit === null && gateway.available > 0 ? <Line>No quota set for some models</Line> : null}
      </FlowCard>
      <Arrow label={null} isBusy={minute.model_calls > 0} />
      <FlowCard
        name="Providers"
        href="/models"
        value={gateway.available}
        unit={`${plural(gateway.available, 'model')} available`}
        isFailing={gateway.failing.length > 0}
      >
        <FailingModels models={gateway.failing} />
        <Cooldowns gateway={gateway} />
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
      {running.slice(0, maxLines).map((run) => (
        <Line key={run.id}>
          {run.source}: {backoffText(run) ?? 'no 429s'}
        </Line>
      ))}
    </FlowCard>
  );
}

function VaultCard({ flow, running }: { readonly flow: Flow; readonly running: Running }) {
  const { running: open, last_finished: last } = flow.extraction;
  const queued = open.length - running.length;
  return (
    <FlowCard
      name="Vault"
      href="/extraction"
      value={running.length}
      unit={plural(running.length, 'active run')}
      degraded={degradedOf(flow.degraded, 'extraction')}
    >
      {running.slice(0, maxLines).map(({ id, source, items, total }) => (
        <Line key={id}>
          {source}: {items}
          {total === null ? '' : ` of ${total}`} items
        </Line>
      ))}
      {queued > 0 ? <Line>{queued} queued</Line> : null}
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

function FailingModels({ models }: { readonly models: Flow['gateway']['failing'] }) {
  return (
    <>
      {models.slice(0, maxLines).map((model) => (
        <Line key={model.id}>
          {model.name}: <StateBadge tone="bad">failing</StateBadge> {failureText(model)}
        </Line>
      ))}
      {models.length > maxLines ? <Line>and {models.length - maxLines} more failing</Line> : null}
    </>
  );
}

function Cooldowns({
  gateway: { available, failing, cooling_down: models, without_key: keyless },
}: Pick<Flow, 'gateway'>) {
  if (models.length === 0 && failing.length > 0) return null;
  if (models.length === 0)
    return (
      <Line>
        {available === 0 && keyless > 0 ? `${counted(keyless, 'model')} without a key` : 'No cooldowns'}
      </Line>
    );
  return (
    <>
      {models.slice(0, maxLines).map(({ id, name, available_at: at, cause }) => (
        <Line key={id}>
          {name}: available <Until at={at} over="now" />
          {cause === null ? '' : ` (${cause})`}
        </Line>
      ))}
      {models.length > maxLines ? <Line>and {models.length - maxLines} more</Line> : null}
    </>
  );
}
