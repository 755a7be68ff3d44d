// What can be done with a model: leave it alone, ask it again, ask it something cheap, switch it off and on.
import type { Model, Probes } from '../../../../src/api/models.ts';
import { Button, Group } from '@mantine/core';
import { call } from '../../api/client.ts';
import { useAct } from '../../parts/act.tsx';
import { withLocalTimes } from '../../parts/time-texts.ts';

export function ModelActions({ model }: { readonly model: Model }) {
  const cool = useAct(
    (amount: number) =>
      call('PATCH', `/api/v1/models/${model.id}/availability`, {
        query: {
          retry_after_seconds: amount,
          ...(amount > 0 ? { reason: 'by hand, in the dashboard' } : {}),
        },
      }),
    {
      stale: ['models', 'flow'],
      done: (_, amount) =>
        amount > 0 ? `${model.name} is left alone for 10 minutes.` : `${model.name} may be asked again.`,
    },
  );
  const enable = useAct(
    (isActive: boolean) =>
      call('PATCH', `/api/v1/models/${model.id}/active`, { body: { is_active: isActive } }),
    {
      stale: ['models', 'flow'],
      done: (_, isActive) => `${model.name} is ${isActive ? 'enabled' : 'disabled'}.`,
    },
  );
  const probe = useAct(() => call<Probes>('POST', '/api/v1/models/probe', { body: { ids: [model.id] } }), {
    stale: ['models'],
    done: probeText,
  });
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" loading={probe.isRunning} onClick={() => probe.run(undefined)}>
        Ask it something cheap
      </Button>
      {model.cooldowns.length > 0 ? (
        <Button size="xs" loading={cool.isRunning} onClick={() => cool.run(0)}>
          Ask it again now
        </Button>
      ) : (
        <Button size="xs" variant="default" loading={cool.isRunning} onClick={() => cool.run(600)}>
          Leave it alone for 10 min
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        loading={enable.isRunning}
        onClick={() => enable.run(!model.is_active)}
      >
        {model.is_active ? 'Disable' : 'Enable'}
      </Button>
    </Group>
  );
}

/** A probe that is left out says why. */
function probeText({ probes: [probe] }: Probes): string {
  if (probe === undefined) return 'It was not asked.';
  const { model, outcome, reason, duration_ms: took } = probe;
  if (outcome === 'success') return `${model} answered in ${Math.round(took ?? 0)} ms.`;
  return `${model}: ${outcome}${reason === null ? '' : `, ${withLocalTimes(reason)}`}.`;
}
