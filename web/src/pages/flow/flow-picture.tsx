// Two streams that meet in the gateway: sources → vault → knowledge, and tenants → admission → executions. Below the
// width of a desk they stand under each other.
import type { FlowAnswer } from '../../../../src/http/contract.ts';
import { Until } from '../../parts/time.tsx';
import { Arrow } from './arrow.tsx';
import classes from './flow-picture.module.css';
import { Gate } from './gate.tsx';
import { lastMinute, plural } from './rates.ts';

export function FlowPicture({ flow }: { readonly flow: FlowAnswer }) {
  const { extraction, knowledge, gateway, admission, executions } = flow;
  const minute = lastMinute(flow.minutes);
  const rate = extraction.running.reduce((sum, run) => sum + (run.items_per_second ?? 0), 0);
  return (
    <div className={classes['picture']}>
      <section aria-label="What comes in" className={classes['stream']}>
        <Gate
          name="Sources"
          href="/extraction"
          value={extraction.sources}
          unit={plural(extraction.sources, 'source')}
        >
          {slowed(extraction) ?? 'Registered APIs'}
        </Gate>
        <Arrow says={rate > 0 ? `${rate.toFixed(rate < 10 ? 1 : 0)} items/s` : null} isBusy={rate > 0} />
        <Gate
          name="Vault"
          href="/extraction"
          value={extraction.running.length}
          unit={extraction.running.length === 1 ? 'run goes on' : 'runs go on'}
          degraded={extraction.degraded}
        >
          {lastRun(extraction)}
        </Gate>
        <Arrow says={knowledge.jobs_running > 0 ? 'reading' : null} isBusy={knowledge.jobs_running > 0} />
        <Gate
          name="Knowledge"
          href="/knowledge"
          value={knowledge.jobs_waiting + knowledge.jobs_running}
          unit={plural(knowledge.jobs_waiting + knowledge.jobs_running, 'job')}
          degraded={knowledge.degraded}
        >
          {knowledge.jobs_waiting > 0 ? `${knowledge.jobs_waiting} wait in line` : 'Nothing waits'}
        </Gate>
        <Arrow says={null} isBusy={false} isBack />
        <Gate
          name="Gateway"
          href="/models"
          value={minute.model_calls}
          unit="calls a minute"
          degraded={gateway.degraded}
        >
          {minute.model_failures > 0 ? `${minute.model_failures} of them failed` : 'None failed'}
        </Gate>
        <Arrow says={null} isBusy={minute.model_calls > 0} />
        <Gate
          name="Providers"
          href="/models"
          value={gateway.available}
          unit={`${plural(gateway.available, 'model')} up`}
        >
          {gateway.cooling.length === 0
            ? 'None cools down'
            : gateway.cooling.slice(0, 3).map((model) => (
                <span key={model.id} className={classes['line']}>
                  {model.name} <Until at={model.available_at} over="is back" />
                </span>
              ))}
        </Gate>
      </section>
      <section aria-label="Who asks" className={classes['stream']}>
        <Gate
          name="Tenants"
          href="/tenants"
          value={admission.organizations}
          unit={plural(admission.organizations, 'organization')}
        >
          {minute.refused > 0 ? `${minute.refused} refused a minute` : 'None refused'}
        </Gate>
        <Arrow says={`${minute.admitted}/min`} isBusy={minute.admitted > 0} />
        <Gate
          name="Admission"
          href="/tenants"
          value={admission.global_used ?? '–'}
          unit={`of ${admission.global_limit} under way`}
          degraded={admission.degraded}
          share={admission.global_used === null ? undefined : admission.global_used / admission.global_limit}
        >
          The limit of all together
        </Gate>
        <Arrow says={`${minute.executions_ended}/min done`} isBusy={executions.executing > 0} />
        <Gate
          name="Executions"
          href="/tenants"
          value={executions.executing}
          unit="run"
          degraded={executions.degraded}
        >
          {executions.queued > 0 ? `${executions.queued} wait in line` : 'Nothing waits'}
        </Gate>
        <Arrow says="ask models" isBusy={executions.executing > 0} isUp />
        <Gate name="Ledger" href="/ledger" value={allDegraded(flow)} unit="open" degraded={allDegraded(flow)}>
          {allDegraded(flow) === 0 ? 'Nothing is degraded' : 'What fell back, and its repair'}
        </Gate>
      </section>
    </div>
  );
}

function slowed({ running }: FlowAnswer['extraction']): string | null {
  const slowest = Math.max(0, ...running.map(({ multiplier }) => multiplier));
  return slowest > 1 ? `Slowed down ${slowest.toFixed(1)} times by refusals` : null;
}

function lastRun({ running, last_finished: last }: FlowAnswer['extraction']): string {
  const [first] = running;
  if (first)
    return `${first.source}: ${first.items}${first.total === null ? '' : ` of ${first.total}`} items`;
  return last === null ? 'Nothing was extracted yet' : `Last: ${last.source}, ${last.state}`;
}

const allDegraded = (flow: FlowAnswer): number =>
  flow.extraction.degraded +
  flow.knowledge.degraded +
  flow.gateway.degraded +
  flow.admission.degraded +
  flow.executions.degraded +
  flow.other_degraded;
