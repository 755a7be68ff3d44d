// Who asks: tenants → admission → executions, which ask the gateway; and the ledger of what fell back.
import { Text } from '@mantine/core';
import type { FlowAnswer } from '../../../../src/http/contract.ts';
import { Arrow } from './arrow.tsx';
import classes from './flow-picture.module.css';
import { Gate, Line } from './gate.tsx';
import { degradedOf, plural } from './words.ts';

export function Asking({ flow }: { readonly flow: FlowAnswer }) {
  const { admission, executions, last_minute: minute, minutes } = flow;
  const { global_used: used, global_limit: limit } = admission;
  return (
    <section aria-label="Who asks" className={classes['stream']}>
      <Gate
        name="Tenants"
        href="/tenants"
        value={admission.organizations}
        unit={plural(admission.organizations, 'organization')}
        bars={{
          all: minutes.map(({ admitted, refused }) => admitted + refused),
          bad: minutes.map(({ refused }) => refused),
        }}
      >
        <Line>{minute.refused > 0 ? `${minute.refused} refused in the last minute` : 'None refused'}</Line>
      </Gate>
      <Arrow says={`${minute.admitted} let in a minute`} isBusy={minute.admitted > 0} />
      <Gate
        name="Admission"
        href="/tenants"
        value={used ?? '–'}
        unit={`of ${limit} under way`}
        degraded={degradedOf(flow.degraded, 'admission')}
        share={used === null ? null : used / limit}
      >
        <Line>
          {admission.waiting > 0 ? `${admission.waiting} wait for a slot` : 'None waits for a slot'}
        </Line>
      </Gate>
      <Arrow says={`${minute.executions_ended} done a minute`} isBusy={executions.executing > 0} />
      <Gate
        name="Executions"
        href="/tenants"
        value={executions.executing}
        unit={executions.executing === 1 ? 'runs' : 'run'}
        degraded={degradedOf(flow.degraded, 'deployments')}
        bars={{ all: minutes.map(({ executions_ended: ended }) => ended) }}
      >
        <Line>{executions.queued > 0 ? `${executions.queued} in line` : 'Nothing waits'}</Line>
      </Gate>
      <Arrow
        says={
          <>
            ask models
            <Text span inherit hiddenFrom="lg">
              , through the gateway above
            </Text>
          </>
        }
        isBusy={executions.executing > 0}
        isUp
      />
      <LedgerGate flow={flow} />
    </section>
  );
}

const mostKinds = 4;

function LedgerGate({ flow: { degraded, degraded_count: open } }: { readonly flow: FlowAnswer }) {
  return (
    <Gate name="Ledger" href="/ledger" value={open} unit="open">
      {open === 0 ? <Line>Nothing is degraded</Line> : null}
      {degraded.slice(0, mostKinds).map(({ kind, open: count }) => (
        <Line key={kind}>
          {kind}: {count}
        </Line>
      ))}
      {degraded.length > mostKinds ? <Line>and {degraded.length - mostKinds} other kinds</Line> : null}
    </Gate>
  );
}
