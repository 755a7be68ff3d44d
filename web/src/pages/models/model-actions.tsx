// Actions on a model: probe, cooldown, enable, disable.
import type { Model, Probes } from '../../../../src/api/models.ts';
import { Button, Group } from '@mantine/core';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';
import { formatDuration } from '../../components/format.ts';
import { withLocalTimes } from '../../components/time-texts.ts';

export function ModelActions({ model }: { readonly model: Model }) {
  const setCooldown = useAction(
    (amount: number) =>
      api('PATCH /api/v1/models/:id/availability', {
        params: { id: model.id },
        query: {
          retry_after_seconds: String(amount),
          ...(amount > 0 ? { reason: 'set in the dashboard' } : {}),
        },
      }),
    {
      stale: ['models', 'flow'],
      done: (_, amount) =>
        amount > 0 ? `${model.name} is cooling down for 10 minutes.` : `Cooldown of ${model.name} cleared.`,
    },
  );
  const enable = useAction(
    (isActive: boolean) =>
      api('PATCH /api/v1/models/:id/active', { params: { id: model.id }, body: { is_active: isActive } }),
    {
      stale: ['models', 'flow'],
      done: (_, isActive) => `${model.name} is ${isActive ? 'enabled' : 'disabled'}.`,
    },
  );
  const probe = useAction(() => api('POST /api/v1/models/probe', { body: { ids: [model.id] } }), {
    stale: ['models'],
    done: probeText,
  });
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" loading={probe.isRunning} onClick={() => probe.run(undefined)}>
        Probe model
      </Button>
      {model.cooldowns.length > 0 ? (
        <Button size="xs" loading={setCooldown.isRunning} onClick={() => setCooldown.run(0)}>
          Clear cooldown
        </Button>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={setCooldown.isRunning}
          onClick={() => setCooldown.run(600)}
        >
          Set cooldown (10 min)
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        loading={enable.isRunning}
        onClick={() => enable.run(!model.is_active)}
      >
        {model.is_active ? 'Disable model' : 'Enable model'}
      </Button>
    </Group>
  );
}

/** A skipped probe has a reason. */
function probeText({ probes: [probe] }: Probes): string {
  if (probe === undefined) return 'Not probed.';
  const { model, outcome, reason, duration_ms: took } = probe;
  if (outcome === 'success') return `${model} responded in ${formatDuration(took ?? 0)}.`;
  return `${model}: ${outcome}${reason === null ? '' : `, ${withLocalTimes(reason)}`}.`;
}
