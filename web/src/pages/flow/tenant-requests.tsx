// Tenant requests: tenants → admission → executions → gateway; and the ledger.
import type { Flow } from '../../../../src/api/overview.ts';
import { Text } from '@mantine/core';
import { plural } from '../../components/format.ts';
import { Arrow } from './arrow.tsx';
import classes from './flow-diagram.module.css';
import { FlowCard, Line } from './flow-card.tsx';
import { degradedOf } from './labels.ts';

export function TenantRequests({ flow }: { readonly flow: Flow }) {
  const { admission, executions, last_minute: minute, minutes } = flow;
  const { global_used: used, global_limit: limit } = admission;
  return (
    <section aria-label="Tenant requests" className={classes['stream']}>
      <FlowCard
        name="Organizations"
        href="/organizations"
        value={admission.organizations}
        unit={plural(admission.organizations, 'organization')}
        bars={{
          all: minutes.map(({ admitted, rejected }) => admitted + rejected),
          bad: minutes.map(({ rejected }) => rejected),
        }}
      >
        <Line>
          {minute.rejected > 0 ? `${minute.rejected} rejected in the last minute` : 'None rejected'}
        </Line>
      </FlowCard>
      <Arrow label={`${minute.admitted}/min`} isBusy={minute.admitted > 0} />
      <FlowCard
        name="Admission"
        href="/organizations"
        value={used ?? '–'}
        unit={`of ${limit} in flight`}
        degraded={degradedOf(flow.degraded, 'admission')}
        share={used === null ? null : used / limit}
      >
        <Line>{admission.queued > 0 ? `${admission.queued} queued for a slot` : 'Queue empty'}</Line>
      </FlowCard>
      <Arrow label={`${minute.executions_ended}/min`} isBusy={executions.running > 0} />
      <FlowCard
        name="Executions"
        href="/organizations"
        value={executions.running}
        unit="running"
        degraded={degradedOf(flow.degraded, 'deployments')}
        bars={{ all: minutes.map(({ executions_ended: ended }) => ended) }}
      >
        <Line>{executions.queued > 0 ? `${executions.queued} queued` : 'Queue empty'}</Line>
      </FlowCard>
      <Arrow
        label={
          <>
            model calls
            <Text span inherit hiddenFrom="lg">
              {' '}
              through the gateway above
            </Text>
          </>
        }
        isBusy={executions.running > 0}
        isUp
      />
      <LedgerCard flow={flow} />
    </section>
  );
}

const maxKinds = 4;

function LedgerCard({ flow: { degraded, degraded_count: open } }: { readonly flow: Flow }) {
  return (
    <FlowCard name="Ledger" href="/ledger" value={open} unit="open">
      {open === 0 ? <Line>No degradations</Line> : null}
      {degraded.slice(0, maxKinds).map(({ kind, open: count }) => (
        <Line key={kind}>
          {kind}: {count}
        </Line>
      ))}
      {degraded.length > maxKinds ? <Line>and {degraded.length - maxKinds} other kinds</Line> : null}
    </FlowCard>
  );
}
