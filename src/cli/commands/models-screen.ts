// Models as tables and facts.
import type { Model } from '../../api/models.ts';
import { humanMoment } from '../human-time.ts';
import type { CliSession } from '../session.ts';

export function showModels(session: CliSession, models: readonly Model[], isAll: boolean): void {
  const { out, io } = session;
  if (models.length === 0) {
    out.line(
      'No model has a key. Set one of the variables in "headworks models list --all" where the server runs,',
    );
    out.line('for example GROQ_API_KEY, or add a model with "headworks models add".');
    return;
  }
  out.table(
    ['ID', 'MODEL', 'SCORE', 'SUCCESS', 'SECONDS', 'REQUESTS', 'KEY', 'STATE'],
    models.map((model) => [
      String(model.id),
      model.name,
      model.effective_reliability_score.toFixed(3),
      model.request_count === 0 ? '–' : `${Math.round(model.success_rate * 100)}%`,
      model.success_count === 0 ? '–' : model.average_response_time.toFixed(2),
      String(model.request_count),
      model.key_source ?? '–',
      stateOf(model, io.clock.now()),
    ]),
  );
  if (!isAll) out.note(`Models without a key are left out: ${session.commandLine('models list --all')}`);
}

/** In one phrase, whether it would be asked now. */
export function stateOf(model: Model, now: number): string {
  if (!model.is_active) return 'disabled';
  if (!model.is_configured) return `needs ${model.needs ?? 'its variable'}`;
  if (model.available_at === null) return 'available';
  const causes = [...new Set(model.cooldowns.map(({ cause }) => cause))].join(', ');
  const back = humanMoment(model.available_at, now);
  return causes === 'quota' ? `quota used up, back ${back}` : `cooling (${causes}), back ${back}`;
}

function keyOf({ env_var, key_source, key_count, is_configured, needs }: Model): string {
  if (key_source !== null) return `${key_count} in ${key_source}`;
  if (is_configured || env_var === null) return 'none needed';
  return `none; set ${needs ?? env_var}`;
}

export function showModel({ out, io }: CliSession, model: Model): void {
  const now = io.clock.now();
  const { capabilities, quotas } = model;
  const abilities = Object.entries(capabilities).filter(([, value]) => value === true);
  const limits = Object.entries(quotas).map(([name, value]) => `${value} ${name.replaceAll('_', ' ')}`);
  out.facts([
    ['id', String(model.id)],
    ['name', model.name],
    ['provider', model.provider],
    ['endpoint', model.api_endpoint],
    ['model there', model.upstream_model],
    ['key', keyOf(model)],
    ['state', stateOf(model, now)],
    ['can', abilities.map(([name]) => name).join(', ') || 'plain chat'],
    ['context', capabilities.context_tokens === null ? 'unknown' : `${capabilities.context_tokens} tokens`],
    ['quotas', limits.join(', ') || 'none known'],
    ['requests', `${model.request_count}, ${model.success_count} answered, ${model.failure_count} failed`],
    ['seconds', model.average_response_time.toFixed(3)],
    ['score', `${model.effective_reliability_score.toFixed(4)}: ${model.decision_reason}`],
    ['origin', model.origin],
  ]);
  for (const { key_id, until, cause, source, reason } of model.cooldowns)
    out.line(
      `  cooling: key ${key_id} until ${until} (${humanMoment(until, now)}), ${cause}, told by ${source}` +
        (reason === null ? '' : `: ${reason}`),
    );
}
