// What comes in: sources → vault → knowledge ← gateway → providers.
import { Badge } from '@mantine/core';
import type { FlowAnswer } from '../../../../src/http/contract.ts';
import { Ago, Until } from '../../parts/time.tsx';
import { toneColor } from '../../theme.ts';
import { Arrow } from './arrow.tsx';
import classes from './flow-picture.module.css';
import { Gate, Line } from './gate.tsx';
import { callsNow, counted, degradedOf, plural, slowed, unanswered } from './words.ts';

/** Of whatever may be long. */
const mostLines = 3;

export function Incoming({ flow }: { readonly flow: FlowAnswer }) {
  const { knowledge, gateway, last_minute: minute, minutes } = flow;
  const { requests_per_minute_limit: limit } = gateway;
  const running = flow.extraction.running.filter(({ state }) => state === 'running');
  const rate = running.reduce((sum, run) => sum + (run.items_per_second ?? 0), 0);
  return (
    <section aria-label="What comes in" className={classes['stream']}>
      <SourcesGate flow={flow} running={running} />
      <Arrow says={rate > 0 ? `${rate.toFixed(rate < 10 ? 1 : 0)} items/s` : null} isBusy={rate > 0} />
      <VaultGate flow={flow} running={running} />
      <Arrow says={knowledge.jobs_running > 0 ? 'reading' : null} isBusy={knowledge.jobs_running > 0} />
      <Gate
        name="Knowledge"
        href="/knowledge"
        value={minute.documents_read}
        unit={`${plural(minute.documents_read, 'document')} a minute`}
        degraded={degradedOf(flow.degraded, 'knowledge')}
        bars={{ all: minutes.map(({ documents_read: read }) => read) }}
      >
        <Line>
          {knowledge.jobs_running + knowledge.jobs_waiting === 0
            ? 'Nothing waits'
            : `${counted(knowledge.jobs_running, 'job')} at work, ${knowledge.jobs_waiting} in line`}
        </Line>
      </Gate>
      <Arrow says={null} isBusy={minute.model_calls > 0 && knowledge.jobs_running > 0} isBack />
      <Gate
        name="Gateway"
        href="/models"
        value={minute.model_calls}
        unit={
          limit === null ? `${plural(minute.model_calls, 'call')} a minute` : `of ${limit} calls a minute`
        }
        share={limit === null ? null : minute.model_calls / limit}
        degraded={degradedOf(flow.degraded, 'gateway')}
        bars={{
          all: minutes.map(({ model_calls: calls }) => calls),
          bad: minutes.map(({ model_failures: failures }) => failures),
        }}
      >
        <Line>{minute.model_failures > 0 ? `${minute.model_failures} of them failed` : 'None failed'}</Line>
        <Line>{unanswered(gateway)}</Line>
        {limit === null && gateway.available > 0 ? <Line>Not every model has a quota</Line> : null}
      </Gate>
      <Arrow says={null} isBusy={minute.model_calls > 0} />
      <Gate
        name="Providers"
        href="/models"
        value={gateway.available}
        unit={`${plural(gateway.available, 'model')} may be asked`}
      >
        <Cooling gateway={gateway} />
      </Gate>
    </section>
  );
}

type Running = FlowAnswer['extraction']['running'];

function SourcesGate({ flow, running }: { readonly flow: FlowAnswer; readonly running: Running }) {
  const { sources } = flow.extraction;
  const { calls, limit } = callsNow(running);
  if (running.length === 0)
    return (
      <Gate name="Sources" href="/extraction" value={sources} unit={plural(sources, 'source')}>
        {sources === 0 ? (
          <Line>None is registered</Line>
        ) : (
          <>
            <Line>None is asked now</Line>
            <Line>May be asked {flow.extraction.calls_per_minute_limit} times a minute</Line>
          </>
        )}
      </Gate>
    );
  return (
    <Gate
      name="Sources"
      href="/extraction"
      value={calls}
      unit={limit === null ? 'calls a minute' : `of ${limit} calls a minute`}
      share={limit === null ? null : calls / limit}
    >
      {running.slice(0, mostLines).map((run) => (
        <Line key={run.run_id}>
          {run.source}: {slowed(run) ?? 'none refused'}
        </Line>
      ))}
    </Gate>
  );
}

function VaultGate({ flow, running }: { readonly flow: FlowAnswer; readonly running: Running }) {
  const { running: open, last_finished: last } = flow.extraction;
  const waiting = open.length - running.length;
  return (
    <Gate
      name="Vault"
      href="/extraction"
      value={running.length}
      unit={running.length === 1 ? 'run goes on' : 'runs go on'}
      degraded={degradedOf(flow.degraded, 'extraction')}
    >
      {running.slice(0, mostLines).map(({ run_id: id, source, items, total }) => (
        <Line key={id}>
          {source}: {items}
          {total === null ? '' : ` of ${total}`} items
        </Line>
      ))}
      {waiting > 0 ? <Line>{waiting} in line</Line> : null}
      {open.length > 0 ? null : last === null ? (
        <Line>Nothing was extracted yet</Line>
      ) : (
        <Line>
          {last.source}: <RunState state={last.state} />, {last.items} items, <Ago at={last.finished_at} />
        </Line>
      )}
    </Gate>
  );
}

/** What did not bring everything stands out. */
function RunState({ state }: { readonly state: string }) {
  if (state === 'completed') return <>{state}</>;
  return (
    <Badge
      component="span"
      size="sm"
      variant="light"
      color={toneColor[state === 'failed' ? 'bad' : 'warning']}
      tt="none"
    >
      {state}
    </Badge>
  );
}

function Cooling({ gateway: { available, cooling, without_key: keyless } }: Pick<FlowAnswer, 'gateway'>) {
  if (cooling.length === 0)
    return (
      <Line>
        {available === 0 && keyless > 0 ? `${counted(keyless, 'model')} without a key` : 'None cools down'}
      </Line>
    );
  return (
    <>
      {cooling.slice(0, mostLines).map(({ id, name, available_at: at, cause }) => (
        <Line key={id}>
          {name}: {cause ?? 'left alone'}, <Until at={at} over="is back" />
        </Line>
      ))}
      {cooling.length > mostLines ? <Line>and {cooling.length - mostLines} more</Line> : null}
    </>
  );
}
