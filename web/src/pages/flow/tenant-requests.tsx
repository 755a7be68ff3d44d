// Tenant requests: tenants → admission → executions → gateway; and the ledger.
import type { Flow } from '../../../../src/api/overview.ts';
import { Text } from '@mantine/core';
import { plural } from '../../parts/format.ts';
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
        name="Tenants"
        href="/tenants"
        value={admission.organizations}
        unit={plural(admission.organizations, 'organization')}
        bars={{
          all: minutes.map(({ admitted, refused }) => admitted + refused),
          bad: minutes.map(({ refused }) => refused),
        }}
      >
        <Line>{minute.refused > 0 ? `${minute.refused} rejected in the last minute` : 'None rejected'}</Line>
      </FlowCard>
      <Arrow says={`${minute.admitted}/min`} isBusy={minute.admitted > 0} />
      <FlowCard
        name="Admission"
        href="/tenants"
        value={used ?? '–'}
        unit={`of ${limit} in flight`}
        degraded={degradedOf(flow.degraded, 'admission')}
        share={used === null ? null : used / limit}
      >
        <Line>{admission.waiting > 0 ? `${admission.waiting} queued for a slot` : 'Queue empty'}</Line>
      </FlowCard>
      <Arrow says={`${minute.executions_ended}/min`} isBusy={executions.executing > 0} />
      <FlowCard
        name="Executions"
        href="/tenants"
        value={executions.executing}
        unit="running"
        degraded={degradedOf(flow.degraded, 'deployments')}
        bars={{ all: minutes.map(({ executions_ended: ended }) => ended) }}
      >
        <Line>{executions.queued > 0 ? `${executions.queued} queued` : 'Queue empty'}</Line>
      </FlowCard>
      <Arrow
        says={
          <>
            model calls
            <Text span inherit hiddenFrom="lg">
              {' '}
              through the gateway above
            </Text>
          </>
        }
        isBusy={executions.executing > 0}
        isUp
      />
      <LedgerCard flow={flow} />
    </section>
  );
}

const mostKinds = 4;

function LedgerCard({ flow: { degraded, degraded_count: open } }: { readonly flow: Flow }) {
  return (
    <FlowCard name="Ledger" href="/ledger" value={open} unit="open">
      {open === 0 ? <Line>No degradations</Line> : null}
      {degraded.slice(0, mostKinds).map(({ kind, open: count }) => (
        <Line key={kind}>
          {kind}: {count}
        </Line>
      ))}
      {degraded.length > mostKinds ? <Line>and {degraded.length - mostKinds} other kinds</Line> : null}
    </FlowCard>
  );
}
